//! Cancels that meet a dispatch at a worker.

use super::*;

#[test]
fn a_told_task_that_gives_in_is_cancelled() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).expect(["1 run 1", "told 1", "1 cancel 1 User"]);
    script.gave_in(1, 1).expect([&*ended(1, "Cancelled")]).takes(1, 0);
    script.at(20_000).expect([]);
}

#[test]
fn a_told_task_that_still_succeeds_is_succeeded_and_one_that_fails_has_failed() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    let (one, two) = (script.run(2, &task(1)), script.run(1, &task(2)));
    script.cancel(&one, Reason::User).cancel(&two, Reason::User).forget();
    script.done(2, 1).expect([&*ended(1, SUCCEEDED)]);
    script.report(1, Report::Done { id: TaskId(2), end: failed("Oops") });
    assert!(script.lines[0].starts_with("ended 2 Failed(Error(TaskError { kind: \"Oops\""));
}

#[test]
fn a_told_task_that_ignores_it_is_killed_and_cancelled() {
    let mut script = Script::with_ready(settings(0, 1), 0);
    script.tell(Event::Demand(1));
    script.ready(1, 1, 0);
    let live = script.tell(Event::Demand(0)).forget().run(1, &task(1));
    script.cancel(&live, Reason::User).forget();
    script.at(7_000).exited(1, "signal 9").expect(["1 Term", "1 Kill", &ended(1, "Cancelled")]);
}

#[test]
fn a_second_cancel_is_answered_but_changes_nothing() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).forget();
    script.at(3_000).cancel(&live, Reason::User).expect(["told 1"]);
    script.at(5_000).expect(["1 Term"]);
}

#[test]
fn expiry_and_reschedule_leave_a_running_task_alone() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::Expired).cancel(&live, Reason::Reschedule(DueAt::Now));
    script.expect(["1 run 1", "told 1", "told 1"]).at(60_000).expect([]);
    script.done(1, 1).expect([&*ended(1, SUCCEEDED)]);
}

#[test]
fn a_cancel_for_another_pass_or_an_unknown_task_is_missed() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1).epoch(2));
    script.cancel(&task(1).epoch(1).live(), Reason::User);
    script.cancel(&task(2).live(), Reason::User);
    script.expect(["1 run 1", "missed 1", "missed 2"]);
}

/// P1: the pool's part: the one that runs is told; what waits never came here.
#[test]
fn a_cancelled_task_is_in_no_slot_afterwards() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).gave_in(1, 1).cancel(&live, Reason::User);
    assert_eq!(script.lines.last().unwrap(), "missed 1");
    assert_eq!(script.states(), [State::Idle]);
}

#[test]
fn a_worker_that_gives_a_task_up_unasked_has_failed_it() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.forget().gave_in(1, 1);
    assert!(script.lines[0].starts_with("ended 1 Failed(Error("), "{:?}", script.lines);
}

/// B5: the yard lost its lease: the task is another's, and whatever it reports is of no account.
#[test]
fn a_task_of_another_is_told_of_a_shutdown_and_made_to_stop() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::Disowned).expect(["1 run 1", "told 1", "1 cancel 1 Shutdown"]).takes(0, 0);
    script.at(249).expect([]).at(250).expect(["1 Term"]).at(750).expect(["1 Kill"]);
    script.exited(1, "signal 9").expect([&*ended(1, DRAINED), "2 launch"]);
}

#[test]
fn a_task_that_is_made_to_end_already_has_no_more_time_when_it_is_anothers() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).forget();
    script.at(1_000).cancel(&live, Reason::Disowned).forget();
    script.at(1_250).expect(["1 Term"]).at(1_750).expect(["1 Kill"]);

    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).forget();
    script.at(5_000).expect(["1 Term"]);
    script.cancel(&live, Reason::Disowned).forget().at(5_500).expect(["1 Kill"]);
}

#[test]
fn a_task_of_another_that_gives_in_is_given_back() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::Disowned).forget().gave_in(1, 1).expect([&*ended(1, DRAINED)]).takes(1, 0);
    script.at(20_000).expect([]);
}

/// The basket's tasks go back when their pool takes nothing.
#[test]
fn what_is_to_be_parked_goes_on_if_it_runs() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::Park).expect(["1 run 1", "told 1"]).takes(0, 0);
    script.at(60_000).done(1, 1).expect([&*ended(1, SUCCEEDED)]);
}
