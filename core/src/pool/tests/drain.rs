//! Drain: what runs has its grace, everything else goes.

use super::*;

/// P18: the pool's part: what runs may end; what arrives after the mark is given back on its way out.
#[test]
fn what_runs_has_its_grace_and_then_the_pool_is_drained() {
    let mut script = Script::with_ready(settings(3, 3), 2);
    script.run(2, &task(1));
    script.forget().tell(Event::Drain).expect(["1 stop", "3 stop"]).takes(0, 0).capacity(0);
    script.dispatch(&task(2));
    script.expect([&*ended(2, DRAINED)]);
    script.exited(1, "exit status 0").exited(3, "exit status 0").expect([]);
    script.at(5_000).done(2, 1).expect([&*ended(1, SUCCEEDED), "2 stop"]);
    script.exited(2, "exit status 0").expect(["drained"]);
    script.tell(Event::Drain).tell(Event::Force).at(90_000).expect([]);
    script.dispatch(&task(3));
    script.expect([&*ended(3, DRAINED)]);
}

#[test]
fn what_still_runs_after_the_grace_is_told_and_terminated_together_then_killed() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.run(2, &task(1));
    script.run(1, &task(2));
    script.forget().tell(Event::Drain).at(9_999).expect([]);
    script.at(10_000).expect(["1 cancel 2 Shutdown", "1 Term", "2 cancel 1 Shutdown", "2 Term"]);
    script.gave_in(1, 2).exited(1, "exit status 0").expect([&*ended(2, DRAINED)]);
    script.at(12_000).exited(2, "signal 9").expect(["2 Kill", &ended(1, DRAINED), "drained"]);
}

/// P19: a second signal forces, whether it comes before or after the mark.
#[test]
fn force_skips_the_grace() {
    for events in [[Event::Drain, Event::Force], [Event::Force, Event::Drain]] {
        let mut script = Script::with_ready(settings(1, 1), 1);
        script.run(1, &task(1));
        script.forget();
        for event in events {
            script.tell(event);
        }
        script.expect(["1 cancel 1 Shutdown", "1 Term"]).at(2_000).expect(["1 Kill"]);
    }
}

#[test]
fn what_was_sent_ahead_is_recalled_and_goes_out() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    super::ahead::open_ahead(&mut script, 1);
    script.run(1, &task(1));
    script.dispatch(&task(2));
    script.dispatch(&task(3));
    script.forget().tell(Event::Drain).expect(["1 recall 3", "1 recall 2"]);
    script.report(1, Report::Returned { id: TaskId(3) }).expect([&*ended(3, DRAINED)]);
    script.exited(1, "signal 9").expect([&*lost(1, "signal 9"), &ended(2, DRAINED), "drained"]);
}

#[test]
fn a_pool_without_workers_is_drained_at_once_and_starts_none() {
    let mut script = Script::new(settings(0, 2));
    script.forget().tell(Event::Drain).expect(["drained"]);
    script.tell(Event::Demand(2)).tell(Event::Scale { min: 1, max: 2 }).at(60_000).expect([]);
}

#[test]
fn a_worker_that_is_not_ready_yet_is_stopped_and_its_late_ready_ignored() {
    let mut script = Script::new(settings(1, 1));
    script.forget().tell(Event::Drain).expect(["1 stop"]);
    script.ready(1, 1, 0);
    script.takes(0, 0).at(7_000).exited(1, "signal 9").expect(["1 Term", "1 Kill", "drained"]);
}

#[test]
fn a_person_s_cancel_stands_in_a_drain() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    let live = script.run(1, &task(1));
    script.tell(Event::Drain).at(10_000).forget().cancel(&live, Reason::User).expect(["told 1"]);
    script.gave_in(1, 1).expect([&*ended(1, "Cancelled")]);
}
