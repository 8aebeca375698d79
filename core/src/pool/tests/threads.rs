//! Workers that can't be killed.

use super::*;

fn threads(max: u32, max_stuck: u32) -> Settings {
    Settings { killable: false, max_stuck, ..settings(1, max) }
}

#[test]
fn a_thread_s_task_ends_at_its_deadline_and_the_stuck_thread_is_replaced() {
    let mut script = Script::with_ready(threads(1, 1), 1);
    script.run(1, &task(1).timeout(1_000));
    script.forget().at(1_000).expect(["1 cancel 1 Timeout", &ended(1, TIMED_OUT), "2 launch"]);
    script.ready(2, 1, 0);
    script.takes(1, 0).capacity(1).at(20_000).expect([]);
    // Its retry may run beside it; the late end is not taken for the retry's.
    script.run(2, &task(1).epoch(2));
    script.forget().done(1, 1).expect(["1 stop"]);
    script.done(2, 1).expect([&*ended(1, SUCCEEDED)]);
}

#[test]
fn beyond_max_stuck_the_pool_is_degraded_until_one_comes_back() {
    let mut script = Script::with_ready(threads(2, 1), 1);
    script.tell(Event::Demand(2));
    script.ready(2, 1, 0);
    script.run(2, &task(1).timeout(1_000));
    script.run(1, &task(2).timeout(1_000));
    script.tell(Event::Demand(0)).forget().at(1_000);
    assert!(script.pool.is_degraded());
    script.capacity(1).forget();
    script.at(2_000).done(1, 2).capacity(2);
    assert!(!script.pool.is_degraded());
}

#[test]
fn a_cancelled_thread_s_task_ends_when_it_ends() {
    let mut script = Script::with_ready(threads(1, 1), 1);
    let live = script.run(1, &task(1));
    script.cancel(&live, Reason::User).at(60_000).expect(["1 run 1", "told 1", "1 cancel 1 User"]);
    script.gave_in(1, 1).expect([&*ended(1, "Cancelled")]).takes(1, 0);
}

#[test]
fn a_drain_gives_up_on_a_thread_that_does_not_end() {
    let mut script = Script::with_ready(threads(2, 1), 1);
    script.run(1, &task(1));
    script.forget().tell(Event::Drain).at(10_000).expect(["1 cancel 1 Shutdown"]);
    script.at(12_000).expect([&*ended(1, DRAINED), "drained"]);
    script.done(1, 1).exited(1, "at last").expect([]);
}

#[test]
fn a_stuck_thread_that_dies_is_no_longer_stuck() {
    let mut script = Script::with_ready(threads(1, 0), 1);
    script.run(1, &task(1).timeout(1_000));
    script.forget().at(1_000).expect(["1 cancel 1 Timeout", &ended(1, TIMED_OUT)]).capacity(1);
    assert!(script.pool.is_degraded());
    script.exited(1, "panicked").expect(["2 launch"]);
    assert!(!script.pool.is_degraded());
}
