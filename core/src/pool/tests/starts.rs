//! Workers that die at start.

use super::*;

/// P22: a hundred failed starts: each later than the one before, one at a time, nothing piles up.
#[test]
fn starts_that_fail_are_tried_again_ever_more_slowly() {
    let mut script = Script::new(settings(1, 4));
    let mut launches = vec![];
    for worker in 1..=100 {
        launches.push(script.micros / 1_000);
        assert_eq!(script.lines.last().unwrap(), &format!("{worker} launch"));
        script.exited(worker, "no such file").forget();
        assert_eq!(script.pool.workers().count(), 0);
        let next = script.pool.next_wakeup().mono.unwrap().0 / 1_000;
        script.at(next);
    }
    assert_eq!(launches[..5], [0, 100, 300, 700, 1_500]);
    assert_eq!(launches[99] - launches[98], 30_000);
    script.capacity(1).takes(0, 0);
    assert_eq!(script.pool.counters().failed_starts, 100);
}

#[test]
fn a_degraded_pool_is_claimed_one_task_until_a_worker_gets_ready() {
    let mut script = Script::new(settings(0, 4));
    script.tell(Event::Demand(9)).capacity(4);
    assert_eq!(script.pool.workers().count(), 4);
    (1..=3).for_each(|worker| _ = script.exited(worker, "exit status 1"));
    script.capacity(1).takes(0, 0);
    // Without headroom nobody demands anything: it tries by itself.
    script.tell(Event::Demand(0)).exited(4, "exit status 1").forget();
    script.at(100).expect(["5 launch"]);
    script.ready(5, 1, 0);
    script.capacity(4).takes(1, 3);
    assert!(!script.pool.is_degraded());
}

#[test]
fn a_worker_that_does_not_get_ready_is_killed_and_counts_as_failed() {
    let mut script = Script::new(Settings { restart_intensity: 1, ..settings(1, 1) });
    script.forget().at(30_000).expect(["1 Kill"]);
    script.ready(1, 1, 0);
    script.takes(0, 0);
    script.exited(1, "signal 9").capacity(1).expect([]);
    script.at(30_100).expect(["2 launch"]);
}

#[test]
fn failures_of_long_ago_are_forgotten() {
    let mut script = Script::new(settings(0, 1));
    for (worker, at) in [(1, 0), (2, 10_000), (3, 20_000), (4, 30_000)] {
        script.at(at).tell(Event::Demand(1)).exited(worker, "exit status 1").tell(Event::Demand(0));
        assert!(!script.pool.is_degraded());
    }
    assert_eq!(script.pool.counters().failed_starts, 4);
}

#[test]
fn a_worker_that_breaks_the_protocol_before_it_is_ready_has_failed_to_start() {
    let mut script = Script::new(settings(1, 1));
    script.forget().report(1, Report::Fault { what: "garbage".into() }).exited(1, "signal 9");
    script.expect(["1 Kill"]).at(100).expect(["2 launch"]);
}
