//! What a pool takes, and that it takes no more.

use super::*;

#[test]
fn a_pool_takes_what_its_ready_workers_can_run() {
    let mut script = Script::new(settings(2, 3));
    script.takes(0, 3).capacity(3);
    script.ready(1, 1, 0);
    script.takes(1, 2);
    script.ready(2, 1, 0);
    script.takes(2, 1).forget();
    script.dispatch(&task(7));
    script.takes(1, 1).expect(["2 run 7"]);
    script.done(2, 7).takes(2, 1).expect([&*ended(7, SUCCEEDED)]);
}

#[test]
fn a_dispatch_for_which_there_is_no_slot_goes_back_at_once() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.dispatch(&task(1));
    script.dispatch(&task(2));
    script.expect(["1 run 1", "returned 2"]).takes(0, 0);
}

#[test]
fn the_most_recently_idle_worker_is_first() {
    let mut script = Script::with_ready(settings(3, 3), 3);
    script.turn((1..=3).map(|id| dispatched(&task(id).live()))).forget();
    script.done(3, 1).done(1, 3).done(2, 2).forget();
    script.dispatch(&task(4));
    script.done(2, 4);
    script.dispatch(&task(5));
    script.dispatch(&task(6));
    let ended = ended(4, SUCCEEDED);
    script.expect(["2 run 4", &ended, "2 run 5", "1 run 6"]);
}

#[test]
fn a_start_is_reported_only_for_what_has_a_key_and_seen_in_the_live_index_for_all() {
    let mut script = Script::with_ready(settings(2, 2), 2);
    let plain = script.run(2, &task(1));
    let keyed = script.run(1, &task(2).key(9));
    script.expect(["2 run 1", "1 run 2", "started 2"]);
    assert_eq!(plain.running(), Some((2, Instant64(0))));
    assert_eq!(keyed.running(), Some((1, Instant64(0))));
}

#[test]
fn a_paused_pool_takes_nothing_and_what_runs_goes_on() {
    let mut script = Script::with_ready(settings(2, 4), 2);
    script.run(2, &task(1));
    script.tell(Event::Pause(true)).takes(0, 0).capacity(0).forget();
    script.dispatch(&task(2));
    script.tell(Event::Demand(3)).done(2, 1);
    script.expect(["returned 2", &ended(1, SUCCEEDED)]).takes(0, 0);
    script.tell(Event::Pause(false)).takes(2, 2).capacity(4).expect(["3 launch"]);
}
