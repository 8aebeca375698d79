//! Time-outs and the kill ladder.

use super::*;

/// P7: a task that ignores everything ends within `grace + kill_after`, as timed out.
#[test]
fn a_task_that_ignores_its_time_out_is_killed_and_its_slot_comes_back() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1).timeout(1_000));
    script.at(999).expect(["1 run 1"]);
    script.at(1_000).expect(["1 cancel 1 Timeout"]);
    script.at(5_999).expect([]);
    script.at(6_000).expect(["1 Term"]);
    script.at(8_000).expect(["1 Kill"]);
    script.at(8_010).exited(1, "signal 9").expect([&*ended(1, TIMED_OUT), "2 launch"]);
    script.ready(2, 1, 0);
    script.takes(1, 0);
}

/// P8: five time-outs of 0.01 to 0.1 s at once.
#[test]
fn five_tasks_time_out_each_in_its_time() {
    let mut script = Script::with_ready(settings(5, 5), 5);
    let timeouts = [10, 30, 50, 70, 100];
    for (id, timeout) in (1..).zip(timeouts) {
        script.run(6 - id, &task(id.into()).timeout(timeout));
    }
    script.forget();
    for (id, timeout) in (1..).zip(timeouts) {
        script.at(timeout as i64).expect([&*format!("{} cancel {id} Timeout", 6 - id)]);
        script.gave_in(6 - id, id.into()).expect([&*ended(id.into(), TIMED_OUT)]);
    }
    script.takes(5, 0).at(60_000).expect([]);
}

/// P7: also if the worker says that it succeeded, in time for the ladder.
#[test]
fn after_a_time_out_the_outcome_is_timed_out_whatever_the_worker_says() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.run(1, &task(1).timeout(1_000));
    script.at(1_500).done(1, 1).expect(["1 run 1", "1 cancel 1 Timeout", &ended(1, TIMED_OUT)]);
    script.takes(1, 0).at(20_000).expect([]);
}

#[test]
fn time_runs_from_the_start_and_not_from_the_sending() {
    let mut script = Script::with_ready(Settings { timeout: Some(secs(1)), ..settings(1, 1) }, 1);
    script.dispatch(&task(1));
    script.at(1_500).started(1, 1).expect(["1 run 1"]);
    script.at(2_499).expect([]);
    script.at(2_500).expect(["1 cancel 1 Timeout"]);
}

#[test]
fn a_task_s_own_time_limit_goes_before_the_pool_s() {
    let mut script = Script::with_ready(Settings { timeout: Some(secs(1)), ..settings(1, 1) }, 1);
    script.run(1, &task(1).timeout(3_000));
    script.at(2_999).expect(["1 run 1"]);
    script.at(3_000).expect(["1 cancel 1 Timeout"]);
}

#[test]
fn neighbours_that_are_killed_with_a_task_are_given_back_uncounted() {
    let mut script = Script::with_ready(Settings { concurrency: 4, ..settings(1, 1) }, 1);
    script.run(1, &task(1).timeout(1_000));
    script.run(1, &task(2));
    script.run(1, &task(3));
    script.at(1_000).takes(0, 0).forget();
    script.at(2_000).done(1, 3).expect([&*ended(3, SUCCEEDED)]).takes(0, 0);
    script.at(6_000).exited(1, "signal 15");
    script.expect(["1 Term", &ended(1, TIMED_OUT), &ended(2, SETBACK), "2 launch"]);
}

#[test]
fn a_worker_whose_told_task_gives_in_takes_tasks_again() {
    let mut script = Script::with_ready(Settings { concurrency: 2, ..settings(1, 1) }, 1);
    script.run(1, &task(1).timeout(1_000));
    script.at(1_000).takes(0, 0);
    script.at(1_100).gave_in(1, 1).takes(2, 0);
    script.forget().at(9_000).expect([]);
}

#[test]
fn a_pool_that_was_asleep_hears_what_was_said_before_it_blames_anybody() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.run(2, &task(1).timeout(1_000));
    script.dispatch(&task(2));
    script.forget().sleep(40_000).expect([]);
    script.done(2, 1).started(1, 2).done(1, 2).expect([&*ended(1, SUCCEEDED), &ended(2, SUCCEEDED)]);
    script.at(60_000).expect([]);
}

#[test]
fn a_pool_that_was_asleep_blames_who_has_nothing_to_say() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    script.run(2, &task(1).timeout(1_000));
    script.dispatch(&task(2));
    script.forget().sleep(40_000).at(40_999).expect([]).at(41_000).expect(["2 cancel 1 Timeout", "1 Kill"]);
}
