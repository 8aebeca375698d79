//! Workers that die or break the protocol.

use super::*;

/// P24: reported with the exit status, and the slot is refilled.
#[test]
fn a_worker_that_dies_mid_task_loses_it_with_its_status() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.forget().exited(1, "exit status 3").expect([&*lost(1, "exit status 3"), "2 launch"]).takes(0, 1);
}

/// P9: killed while idle: replaced within a second, nothing counted.
#[test]
fn a_worker_that_dies_while_idle_is_replaced() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.at(60_000).exited(1, "signal 9").expect(["3 launch"]).takes(1, 1);
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.exited(1, "signal 9").expect([]).at(1_000).expect(["3 launch"]);
}

#[test]
fn of_a_dead_worker_s_dispatches_as_many_as_it_runs_at_once_count_as_started() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 4, 4);
    open_ahead(&mut script, 1);
    script.turn((1..=6).map(|id| dispatched(&task(id).live()))).started(1, 1).forget();
    script.exited(1, "signal 6");
    let lost: Vec<_> = (1..=4).map(|id| lost(id, "signal 6")).collect();
    script.expect([&*lost[0], &lost[1], &lost[2], &lost[3], "returned 5", "returned 6", "2 launch"]);
}

#[test]
fn a_start_that_was_seen_counts_before_one_that_was_not() {
    let mut script = Script::new(settings(1, 1));
    script.ready(1, 1, 4);
    open_ahead(&mut script, 1);
    script.turn((1..=3).map(|id| dispatched(&task(id).live()))).started(1, 2).forget();
    script.exited(1, "signal 6").expect(["returned 1", &*lost(2, "signal 6"), "returned 3", "2 launch"]);
}

/// P25: garbage: the worker is killed, the task lost once, with the fault as status.
#[test]
fn a_worker_that_breaks_the_protocol_is_killed_and_its_task_lost_once() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.forget().report(1, Report::Fault { what: "not JSON: \u{fffd}".into() }).expect(["1 Kill"]);
    script.done(1, 1).started(1, 9).expect([]);
    script.exited(1, "signal 9").expect([&*lost(1, "not JSON: \u{fffd}"), "2 launch"]);
    script.exited(1, "signal 9").done(1, 1).expect([]);
}

/// P25: two `done` for one task.
#[test]
fn a_second_end_of_a_task_is_the_worker_s_fault() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.run(2, &task(1));
    script.done(2, 1).forget();
    script.dispatch(&task(2));
    script.done(2, 1).expect(["2 run 2", "2 Kill"]);
    script.exited(2, "signal 9");
    let status = "it spoke of task 00000000-0000-0000-0000-000000000001, which it does not have";
    script.expect([&*lost(2, status), "3 launch"]).takes(1, 1);
}

/// P25: unknown ids, in any report.
#[test]
fn a_report_about_a_task_that_the_worker_does_not_have_is_its_fault() {
    for report in [
        Report::Started { id: TaskId(1) },
        Report::Done { id: TaskId(1), end: WorkerEnd::Cancelled },
        Report::Returned { id: TaskId(1) },
    ] {
        let mut script = Script::with_ready(settings(2, 2), 2);
        script.run(2, &task(1));
        script.forget().report(1, report).expect(["1 Kill"]);
        script.done(2, 1).expect([&*ended(1, SUCCEEDED)]);
    }
}

#[test]
fn a_started_task_can_t_come_back() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.forget().report(1, Report::Returned { id: TaskId(1) }).expect(["1 Kill"]);
}

/// P23: the pool's part: each death loses what ran, once, and a window that came too late is made good.
#[test]
fn a_dispatch_that_meets_a_dead_worker_goes_back() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.forget().turn([
        Event::Worker {
            worker: 1,
            report: Report::Exited { status: "signal 9".into(), output: String::new() },
        },
        dispatched(&task(2).live()),
    ]);
    assert_eq!(script.lines.len(), 3);
    assert_eq!(script.lines[1..], ["returned 2", "2 launch"]);
}

#[test]
fn a_worker_that_does_not_start_what_it_was_sent_is_killed() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.at(20_000).done(1, 1).dispatch(&task(2));
    script.forget().at(59_999).expect([]);
    script.at(60_000).expect(["1 Kill"]).exited(1, "signal 9");
    let status = "it did not start task 00000000-0000-0000-0000-000000000002 within 30s";
    script.expect([&*lost(2, status), "2 launch"]);
}

#[test]
fn counters_tell_what_was_seen() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1));
    script.dispatch(&task(2));
    script.done(1, 1).report(1, Report::Fault { what: "x".into() }).exited(1, "signal 9");
    let counters = script.pool.counters();
    assert_eq!((counters.received, counters.ended, counters.returned), (2, 1, 1));
    assert_eq!((counters.launched, counters.failed_starts, counters.faults), (2, 0, 1));
}

use super::ahead::open_ahead;
