//! Workers that are too old, have done enough or are too large.

use super::*;

/// P12: the pool's part: a busy worker past its age leaves after its task and is not killed.
#[test]
fn a_busy_worker_past_its_age_leaves_after_its_task() {
    let mut script = Script::with_ready(Settings { max_age: Some(secs(60)), ..settings(1, 2) }, 1);
    script.run(1, &task(1));
    script.at(60_000).expect(["1 run 1", "2 launch"]);
    script.ready(2, 1, 0);
    script.at(100_000).expect([]).takes(1, 0);
    script.done(1, 1).expect([&*ended(1, SUCCEEDED), "1 stop"]);
    script.exited(1, "exit status 0").expect([]);
}

#[test]
fn an_idle_worker_past_its_age_is_replaced() {
    let mut script = Script::with_ready(Settings { max_age: Some(secs(60)), ..settings(1, 1) }, 1);
    script.at(60_000).expect(["1 stop"]).exited(1, "exit status 0").expect(["2 launch"]);
}

#[test]
fn a_worker_that_ran_enough_tasks_leaves() {
    let settings = Settings { max_tasks: Some(3), concurrency: 2, ..settings(1, 1) };
    let mut script = Script::with_ready(settings, 1);
    script.turn([1, 2].map(|id| dispatched(&task(id).live()))).takes(0, 0);
    // Two are done or under way: one more is its share.
    script.done(1, 1).takes(1, 0).dispatch(&task(3));
    script.takes(0, 0).forget();
    script.done(1, 2).done(1, 3);
    script.expect([&*ended(2, SUCCEEDED), &*ended(3, SUCCEEDED), "1 stop"]);
}

#[test]
fn a_worker_that_is_too_large_leaves_when_idle_and_is_killed_when_busy() {
    let settings = Settings { memory_limit: Some(100), ..settings(2, 2) };
    let mut script = Script::with_ready(settings, 2);
    script.run(2, &task(1));
    script.forget().report(1, Report::Resident { bytes: 100 }).report(2, Report::Resident { bytes: 100 });
    script.expect([]).report(1, Report::Resident { bytes: 101 }).expect(["1 stop"]);
    script.report(2, Report::Resident { bytes: 101 }).expect(["2 Kill"]);
    script.exited(2, "signal 9");
    let status = "memory limit of 100 bytes exceeded: 101 bytes resident";
    script.expect([&*lost(1, status), "3 launch"]);
}
