//! The number of workers.

use super::*;

/// P10: six at once for six tasks, and never a seventh.
#[test]
fn a_pool_grows_at_once_to_what_is_demanded_and_never_beyond_max() {
    let mut script = Script::with_ready(settings(1, 6), 1);
    script.takes(1, 5);
    script.turn([dispatched(&task(1).live()), Event::Demand(5)]);
    script.expect(["1 run 1", "2 launch", "3 launch", "4 launch", "5 launch", "6 launch"]);
    script.tell(Event::Demand(50)).expect([]);
    script.takes(0, 5).capacity(6);
    assert_eq!(script.pool.workers().count(), 6);
}

/// P11: back to one worker after `idle_for`, and no change afterwards while one task always runs.
#[test]
fn a_pool_shrinks_once_and_stays_so_while_one_task_always_runs() {
    let mut script = Script::with_ready(settings(1, 10), 1);
    script.tell(Event::Demand(10));
    (2..=10).for_each(|worker| script.ready(worker, 1, 0));
    script.turn((1..=10).map(|id| dispatched(&task(id).live())).chain([Event::Demand(0)])).forget();
    (1..=10).for_each(|worker: u32| _ = script.done(worker, 11 - u128::from(worker)));
    script.forget();
    let mut id = 100;
    for second in 0..300 {
        script.at(second * 1_000);
        id += 1;
        script.run(10, &task(id));
        script.at(second * 1_000 + 990).done(10, id);
        let stops: Vec<_> = script.lines.iter().filter(|line| line.ends_with("stop")).cloned().collect();
        assert_eq!(stops.len(), if second == 30 { 9 } else { 0 }, "at {second} s: {stops:?}");
        if second == 30 {
            (1..=9).for_each(|worker| _ = script.exited(worker, "exit status 0"));
        }
        script.forget();
    }
    assert_eq!(script.pool.workers().count(), 1);
    assert_eq!(script.pool.counters().launched, 10);
}

#[test]
fn spare_workers_are_kept_beside_the_busy_ones() {
    let mut script = Script::with_ready(Settings { spare: 1, ..settings(0, 4) }, 1);
    script.run(1, &task(1));
    script.expect(["1 run 1", "2 launch"]);
    script.ready(2, 1, 0);
    script.at(200_000).expect([]);
    script.done(1, 1).forget();
    // The one that became idle last stays.
    script.at(229_999).expect([]);
    script.at(230_000).expect(["2 stop"]);
}

#[test]
fn demand_is_met_by_free_slots_first() {
    let mut script = Script::with_ready(Settings { concurrency: 4, ..settings(1, 3) }, 1);
    script.tell(Event::Demand(4)).expect([]);
    script.tell(Event::Demand(5)).expect(["2 launch"]);
    script.takes(4, 8).capacity(12);
}

#[test]
fn a_pool_without_work_goes_down_to_none() {
    let mut script = Script::new(settings(0, 2));
    script.expect(["learned [\"t\"]", "known [\"t\"]"]).takes(0, 2);
    script.tell(Event::Demand(1)).expect(["1 launch"]);
    script.ready(1, 1, 0);
    script.tell(Event::Demand(0)).at(30_000).expect(["1 stop"]);
    script.exited(1, "exit status 0").at(100_000).expect([]);
}

#[test]
fn a_worker_that_does_not_stop_is_killed() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.tell(Event::Scale { min: 0, max: 1 }).at(30_000).expect(["1 stop"]);
    script.at(60_000).expect(["1 Term", "1 Kill"]);
    script.exited(1, "signal 9").expect([]);
}

#[test]
fn other_bounds_take_effect_at_once_without_ending_a_task() {
    let mut script = Script::with_ready(settings(3, 3), 3);
    script.run(3, &task(1));
    script.run(2, &task(2));
    script.forget().tell(Event::Scale { min: 1, max: 1 }).expect(["1 stop"]);
    script.capacity(1).done(2, 2).expect([&*ended(2, SUCCEEDED), "2 stop"]);
    script.tell(Event::Scale { min: 4, max: 4 }).expect(["4 launch"]);
    script.exited(1, "exit status 0").exited(2, "exit status 0").expect(["5 launch", "6 launch"]);
}
