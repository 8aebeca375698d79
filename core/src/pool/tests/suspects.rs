//! Dispatches whose last delivery ended unreported: they wait for their mark with a slot, and never count as started.

use super::ahead::open_ahead;
use super::*;
use crate::dispatch::DispatchName;

fn go(live: &Live) -> Event {
    Event::Go(DispatchName { id: live.task.id, epoch: live.epoch })
}

/// One worker of which a suspect, task 1, has the only slot.
fn one_waits() -> (Script, Arc<Live>) {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.dispatch(&task(1).suspect());
    script.expect(["may 1 start"]).takes(0, 0);
    (script, live)
}

/// B9: the mark is committed before the start.
#[test]
fn a_suspect_has_a_slot_and_is_sent_once_its_mark_is_committed() {
    let (mut script, live) = one_waits();
    script.at(4_999).expect([]).tell(go(&live)).expect(["1 run 1"]).takes(0, 0);
    script.started(1, 1).done(1, 1).expect([&*ended(1, SUCCEEDED)]).takes(1, 0);
    script.at(20_000).expect([]);
}

#[test]
fn a_suspect_that_waits_runs_to_nobody_who_looks() {
    let (script, live) = one_waits();
    assert_eq!(live.running(), None);
    assert_eq!(script.states(), [State::Busy]);
    assert!(script.pool.workers().all(|worker| worker.running.is_empty()));
}

#[test]
fn after_five_silent_seconds_a_suspect_is_given_back_uncounted_and_a_late_go_is_ignored() {
    let (mut script, live) = one_waits();
    script.at(5_000).expect([&*ended(1, SETBACK)]).takes(1, 0);
    script.tell(go(&live)).expect([]);
    assert_eq!(script.states(), [State::Idle]);
}

#[test]
fn a_go_for_another_pass_or_an_unknown_task_is_ignored() {
    let (mut script, live) = one_waits();
    script.tell(go(&task(1).epoch(2).live())).tell(go(&task(2).live())).expect([]);
    script.tell(go(&live)).tell(go(&live)).expect(["1 run 1"]);
}

/// B9: the death of a worker says nothing of what was never sent to it.
#[test]
fn when_its_worker_dies_a_suspect_goes_back_to_its_place() {
    let (mut script, live) = one_waits();
    script.exited(1, "signal 9");
    assert_eq!(script.lines[0], "returned 1");
    script.forget().tell(go(&live)).at(9_000).expect(["2 launch"]);
}

#[test]
fn a_waiting_suspect_does_not_count_among_the_first_unanswered() {
    let mut script = Script::with_ready(Settings { concurrency: 3, ..settings(1, 1) }, 1);
    script.dispatch(&task(1).suspect());
    script.dispatch(&task(2));
    script.dispatch(&task(3));
    script.forget().takes(0, 0).exited(1, "signal 6");
    script.expect(["returned 1", &lost(2, "signal 6"), &lost(3, "signal 6"), "2 launch"]);
}

/// From the sending on it is like any other.
#[test]
fn a_suspect_that_was_sent_is_lost_with_its_worker() {
    let (mut script, live) = one_waits();
    script.tell(go(&live)).forget().exited(1, "signal 11");
    assert_eq!(script.lines[0], lost(1, "signal 11"));
}

#[test]
fn a_cancel_ends_a_waiting_suspect_as_not_started() {
    for (reason, end) in [
        (Reason::User, "Cancelled"),
        (Reason::Expired, "Expired"),
        (Reason::Reschedule(DueAt::Now), "Rescheduled(Now)"),
        (Reason::Park, DRAINED),
        (Reason::Disowned, DRAINED),
    ] {
        let (mut script, live) = one_waits();
        script.cancel(&live, reason).expect([&*ended(1, end)]).takes(1, 0);
        script.cancel(&live, reason).tell(go(&live)).at(9_000).expect(["missed 1"]);
    }
}

#[test]
fn a_suspect_is_never_sent_ahead() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    open_ahead(&mut script, 1);
    script.dispatch(&task(1));
    script.takes(4, 0).dispatch(&task(2).suspect());
    script.expect(["1 run 1", "returned 2"]);
}

#[test]
fn nothing_is_sent_ahead_of_a_waiting_suspect() {
    let mut script = Script::new(Settings { concurrency: 2, ..settings(1, 1) });
    script.ready(1, 2, 4);
    open_ahead(&mut script, 1);
    let live = script.dispatch(&task(1).suspect());
    script.dispatch(&task(2));
    script.takes(0, 0).dispatch(&task(3));
    script.tell(go(&live)).takes(4, 0).expect(["may 1 start", "1 run 2", "returned 3", "1 run 1"]);
}

#[test]
fn a_pause_takes_back_a_waiting_suspect() {
    let (mut script, live) = one_waits();
    script.tell(Event::Pause(true)).expect(["returned 1"]);
    assert_eq!(script.states(), [State::Idle]);
    script.tell(go(&live)).tell(Event::Pause(false)).expect([]).takes(1, 0);
}

/// P18
#[test]
fn a_drain_gives_a_waiting_suspect_back_on_its_way_out() {
    let (mut script, live) = one_waits();
    script.tell(Event::Drain).expect([&*ended(1, DRAINED), "1 stop"]);
    script.tell(go(&live)).exited(1, "exit status 0").expect(["drained"]);
}

#[test]
fn a_worker_that_may_be_killed_keeps_no_slot() {
    let mut script = Script::with_ready(Settings { concurrency: 2, ..settings(1, 1) }, 1);
    let told = script.run(1, &task(1));
    let live = script.dispatch(&task(2).suspect());
    script.forget().cancel(&told, Reason::User);
    script.expect(["told 1", "1 cancel 1 User", "returned 2"]).tell(go(&live)).expect([]);
}

#[test]
fn a_worker_that_leaves_or_breaks_the_protocol_keeps_no_slot() {
    let (mut script, _) = one_waits();
    script.report(1, Report::Fault { what: "not JSON".into() }).expect(["returned 1", "1 Kill"]);
    let mut script = Script::with_ready(Settings { max_age: Some(secs(2)), ..settings(1, 1) }, 1);
    script.dispatch(&task(1).suspect());
    script.forget().at(2_000).expect(["returned 1", "1 stop"]);
}
