//! Sending ahead and recalling.

use super::*;

/// A quick task of worker 1 (or of who comes first) opens the credits.
pub(super) fn open_ahead(script: &mut Script, worker: u32) {
    script.dispatch(&task(1_000));
    script.started(worker, 1_000).done(worker, 1_000).forget();
}

/// One worker that takes four ahead, after a quick task.
fn opened() -> Script {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    open_ahead(&mut script, 1);
    script
}

#[test]
fn nothing_is_sent_ahead_before_a_task_was_seen_to_be_quick() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    script.forget().dispatch(&task(1));
    script.takes(0, 0).capacity(1);
    script.at_micros(999).done(1, 1).capacity(5).takes(1, 0);
    script.dispatch(&task(2));
    script.takes(4, 0);
}

#[test]
fn tasks_of_a_millisecond_are_not_sent_ahead() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    script.dispatch(&task(1));
    script.at(1).done(1, 1);
    script.dispatch(&task(2));
    script.takes(0, 0).capacity(1);
}

#[test]
fn quick_tasks_wait_in_the_worker_up_to_its_room() {
    let mut script = opened();
    script.turn((1..=6).map(|id| dispatched(&task(id).live())));
    script.expect(["1 run 1", "1 run 2", "1 run 3", "1 run 4", "1 run 5", "returned 6"]).takes(0, 0);
    script.done(1, 1).takes(1, 0).capacity(5);
}

#[test]
fn a_slow_name_closes_the_credits_until_a_quick_task_ends() {
    let mut script = opened();
    script.dispatch(&task(1));
    script.takes(4, 0).dispatch(&task(2).named("slow"));
    script.expect(["1 run 1", "returned 2"]).takes(0, 0).capacity(1);
    script.done(1, 1).takes(1, 0).dispatch(&task(3));
    script.takes(4, 0).capacity(5);
}

#[test]
fn runs_are_measured_from_the_end_of_the_task_before() {
    let mut script = opened();
    script.turn((1..=5).map(|id| dispatched(&task(id).live())));
    // Each ran for 0.9 ms, though the last one ended 4.5 ms after it was sent.
    (1..=5u32).for_each(|id| _ = script.at_micros(i64::from(id) * 900).done(1, id.into()));
    script.dispatch(&task(6));
    script.takes(4, 0).forget().dispatch(&task(7));
    script.expect(["1 run 7"]);
}

#[test]
fn reports_that_come_in_one_batch_are_measured_together() {
    let mut script = opened();
    script.turn((1..=5).map(|id| dispatched(&task(id).live())));
    // 4.5 ms for five.
    script.at_micros(4_500);
    (1..=5).for_each(|id| _ = script.started(1, id).done(1, id));
    script.dispatch(&task(6));
    script.takes(4, 0).forget().dispatch(&task(7));
    script.expect(["1 run 7"]);
}

#[test]
fn a_name_that_becomes_slow_is_no_longer_sent_ahead() {
    let mut script = opened();
    script.dispatch(&task(1));
    script.at(100).done(1, 1).dispatch(&task(2));
    script.forget().dispatch(&task(3));
    script.expect(["returned 3"]).takes(0, 0);
}

#[test]
fn nothing_is_sent_ahead_while_a_worker_idles() {
    let mut script = Script::new(settings(2, 2));
    script.ready(1, 1, 4);
    script.ready(2, 1, 4);
    open_ahead(&mut script, 2);
    script.dispatch(&task(1));
    script.takes(1, 0).dispatch(&task(2));
    script.takes(8, 0).expect(["2 run 1", "1 run 2"]);
}

#[test]
fn a_worker_that_falls_idle_is_given_what_waits_in_another() {
    let mut script = two_with_queue();
    script.done(1, 2).forget();
    script.at_micros(500).expect([]);
    script.at(1).expect(["2 recall 5"]);
    let recalled = script.report(2, Report::Returned { id: TaskId(5) }).at(1).lines.clone();
    assert_eq!(recalled, ["1 run 5"]);
}

/// Two workers, busy with 1 and 2; 3 to 6 were sent ahead, two to each: 4 and 6 to worker 1, 3 and 5 to worker 2.
fn two_with_queue() -> Script {
    let mut script = Script::new(settings(2, 2));
    script.ready(1, 1, 2);
    script.ready(2, 1, 2);
    open_ahead(&mut script, 2);
    script.turn((1..=6).map(|id| dispatched(&task(id).live())));
    script.expect(["2 run 1", "1 run 2", "2 run 3", "1 run 4", "2 run 5", "1 run 6"]);
    script.done(1, 4).done(1, 6).forget();
    script
}

#[test]
fn while_more_is_coming_nothing_is_recalled() {
    let mut script = two_with_queue();
    script.tell(Event::Demand(1)).done(1, 2).forget();
    script.at(5).expect([]);
    script.tell(Event::Demand(0)).at(6).expect(["2 recall 5"]);
}

#[test]
fn a_recalled_task_that_started_meanwhile_runs_on() {
    let mut script = two_with_queue();
    script.done(1, 2).at(1).done(2, 1).started(2, 3).done(2, 3).started(2, 5).forget();
    script.done(2, 5).expect([&*ended(5, SUCCEEDED)]).takes(2, 0);
}

#[test]
fn a_recalled_task_for_which_no_worker_is_free_any_more_goes_back_with_its_key() {
    let mut script = two_with_queue();
    script.done(1, 2).at(1).forget();
    script.dispatch(&task(7));
    script.report(2, Report::Returned { id: TaskId(5) });
    script.expect(["1 run 7", "returned 5"]);
    assert_eq!(script.returned[0].live.stage(), crate::live::Stage::Queued);
}

#[test]
fn a_cancel_of_what_was_sent_ahead_recalls_it_and_then_ends_it() {
    for (reason, end) in [
        (Reason::User, "Cancelled"),
        (Reason::Expired, "Expired"),
        (Reason::Reschedule(DueAt::Now), "Rescheduled(Now)"),
        (Reason::Park, DRAINED),
        (Reason::Disowned, DRAINED),
    ] {
        let mut script = opened();
        script.run(1, &task(1));
        let live = script.dispatch(&task(2));
        script.forget().cancel(&live, reason).cancel(&live, reason).expect(["1 recall 2"]);
        script.report(1, Report::Returned { id: TaskId(2) }).expect([&*ended(2, end)]);
    }
}

#[test]
fn a_cancel_of_what_was_sent_ahead_and_has_started_tells_it() {
    let mut script = opened();
    script.run(1, &task(1));
    let live = script.dispatch(&task(2));
    script.forget().cancel(&live, Reason::User).done(1, 1).started(1, 2);
    script.expect(["1 recall 2", &ended(1, SUCCEEDED), "told 2", "1 cancel 2 User"]);
    script.gave_in(1, 2).expect([&*ended(2, "Cancelled")]);
}

#[test]
fn a_task_that_may_be_killed_has_nothing_waiting_behind_it() {
    let mut script = opened();
    let live = script.run(1, &task(1));
    script.dispatch(&task(2));
    script.forget().cancel(&live, Reason::User);
    script.expect(["told 1", "1 cancel 1 User", "1 recall 2"]).takes(0, 0);
    script.report(1, Report::Returned { id: TaskId(2) }).expect(["returned 2"]);
}

#[test]
fn a_pause_takes_back_what_was_sent_ahead() {
    let mut script = opened();
    script.run(1, &task(1));
    script.dispatch(&task(2));
    script.forget().tell(Event::Pause(true)).expect(["1 recall 2"]);
    script.report(1, Report::Returned { id: TaskId(2) }).expect(["returned 2"]);
}

#[test]
fn a_pool_that_may_not_send_ahead_does_not() {
    let mut script = Script::new(Settings { send_ahead: false, ..settings(1, 1) });
    script.ready(1, 1, 4);
    open_ahead(&mut script, 1);
    script.dispatch(&task(1));
    script.takes(0, 0).capacity(1);
}

#[test]
fn a_person_s_cancel_of_what_waits_stands_whatever_else_comes() {
    for reasons in [[Reason::User, Reason::Expired], [Reason::Expired, Reason::User]] {
        let mut script = opened();
        script.run(1, &task(1));
        let live = script.dispatch(&task(2));
        for reason in reasons {
            script.cancel(&live, reason);
        }
        script.forget().report(1, Report::Returned { id: TaskId(2) }).expect([&*ended(2, "Cancelled")]);
    }
}

#[test]
fn what_must_not_run_on_is_told_whatever_else_wanted_it_back() {
    for reasons in [[Reason::Park, Reason::Disowned], [Reason::Disowned, Reason::Expired]] {
        let mut script = opened();
        script.run(1, &task(1));
        let live = script.dispatch(&task(2));
        for reason in reasons {
            script.cancel(&live, reason);
        }
        script.forget().done(1, 1).started(1, 2);
        script.expect([&*ended(1, SUCCEEDED), "told 2", "1 cancel 2 Shutdown"]);
    }
}

#[test]
fn what_waits_behind_a_task_that_runs_long_goes_back_to_whoever_has_room() {
    let mut script = opened();
    script.turn((1..=3).map(|id| dispatched(&task(id).live()))).started(1, 1).forget();
    script.at_micros(9_999).expect([]).at(10).expect(["1 recall 3", "1 recall 2"]).takes(0, 0);
    for id in [3, 2] {
        script.report(1, Report::Returned { id: TaskId(id) });
    }
    script.expect(["returned 3", "returned 2"]).takes(0, 0).capacity(1);
    script.at(500).done(1, 1).takes(1, 0).capacity(5);
}

#[test]
fn what_waits_while_tasks_before_it_end_stays() {
    let mut script = opened();
    script.turn((1..=3).map(|id| dispatched(&task(id).live()))).forget();
    script.at(9).done(1, 1).forget();
    script.at_micros(18_999).expect([]).at(19).expect(["1 recall 3"]);
}
