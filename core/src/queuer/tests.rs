//! Windows, order, demand, cancel and drain of the Queuer, event by event.

use std::sync::Arc;

use super::{Effect, Event, Queuer};
use crate::dispatch::{Cancel, Dispatch, End, Ended, Order, Reason, Return};
use crate::id::PoolId;
use crate::keys::fixture::{self, KEY, name};
use crate::live::{Live, Stage as At};
use crate::machine::{Machine, Stage};
use crate::names::Lane;
use crate::router::Router;
use crate::task::{KeyLimits, Task};
use crate::time::{Now, Timestamp};
use crate::window::Window;

/// What the Queuer said, in short: pools and tasks by number.
#[derive(Debug, PartialEq)]
enum Said {
    Run(u8, u64),
    Demand(u8, usize),
    ToPool(u8, u64),
    Drain(u8),
    Queued(u64),
    Ended(u64, End),
    Missed(u64),
}
use Said::{Demand, Drain, Missed, Queued, Run, ToPool};

struct Rig {
    queuer: Queuer,
    /// What the pools have, to be returned.
    handed: Vec<Dispatch>,
}

const SOME: u8 = 0;
const NLP: u8 = 1;

impl Rig {
    /// One pool that takes everything in `data.#`.
    fn one_pool() -> Self {
        Self::new(&[(SOME, "data.#")])
    }

    /// A general pool and a special one.
    fn two_pools() -> Self {
        Self::new(&[(SOME, "data.#"), (NLP, "data.nlp.#")])
    }

    fn new(pools: &[(u8, &str)]) -> Self {
        let mut router = Router::default();
        for (pool, pattern) in pools {
            router.bind(PoolId(*pool), &[pattern.parse().unwrap()], Some(&["copy".parse().unwrap()]));
        }
        Self { queuer: Queuer::new(router), handed: Vec::new() }
    }

    fn tell(&mut self, event: Event) -> Vec<Said> {
        let mut effects = Vec::new();
        self.queuer.handle(Now::default(), event, &mut effects);
        self.queuer.end_turn(Now::default(), &mut effects);
        self.queuer.check_invariants();
        effects.into_iter().map(|effect| self.short(effect)).collect()
    }

    fn short(&mut self, effect: Effect) -> Said {
        let n = |id: crate::TaskId| id.0 as u64;
        match effect {
            Effect::Dispatch(pool, dispatch) => {
                let said = Run(pool.0, n(dispatch.id()));
                self.handed.push(*dispatch);
                said
            }
            Effect::Demand(pool, count) => Demand(pool.0, count),
            Effect::Cancel(pool, cancel) => ToPool(pool.0, n(cancel.id())),
            Effect::Drain(pool) => Drain(pool.0),
            Effect::Queued { name, .. } => Queued(n(name.id)),
            Effect::Ended(Ended { dispatch, end }) => Said::Ended(n(dispatch.id()), end),
            Effect::Missed(cancel) => Missed(n(cancel.id())),
        }
    }

    fn arrive(&mut self, dispatch: Dispatch) -> Vec<Said> {
        self.tell(Event::Dispatch(Box::new(dispatch)))
    }

    fn window(&mut self, pool: u8, up_to: u64, headroom: usize) -> Vec<Said> {
        self.tell(Event::Window(Window { pool: PoolId(pool), up_to, headroom }))
    }

    /// The pool has no worker for it any more.
    fn give_back(&mut self, n: u64) -> Vec<Said> {
        let at = self.handed.iter().position(|dispatch| dispatch.id() == name(n).id).unwrap();
        let dispatch = self.handed.remove(at);
        dispatch.live.hand_to(None);
        self.tell(Event::Returned(Box::new(dispatch)))
    }

    fn held(&self) -> Vec<u64> {
        self.queuer.held().map(|dispatch| dispatch.id().0 as u64).collect()
    }
}

/// Task `n`, which arrived as the `n`th, at this place in the order.
fn ranked(n: u64, namespace: &str, rank: i64) -> Dispatch {
    let mut dispatch = fixture::dispatch(n, None, KeyLimits::PARALLEL);
    let lane = Lane { namespace: namespace.parse().unwrap(), name: "copy".parse().unwrap() };
    let task = Task { lane: Arc::new(lane), ..dispatch.task().clone() };
    dispatch.live = Arc::new(Live::new(Arc::new(task), n, Timestamp(0), 1, 1));
    dispatch.order = Order { rank, sequence: n };
    dispatch
}

fn task(n: u64) -> Dispatch {
    ranked(n, "data.x", 0)
}

fn nlp(n: u64) -> Dispatch {
    ranked(n, "data.nlp.fr", 0)
}

#[test]
fn a_task_goes_straight_on_while_the_window_is_open() {
    let mut rig = Rig::one_pool();
    assert_eq!(rig.window(SOME, 2, 0), []);
    assert_eq!(rig.arrive(task(1)), [Run(SOME, 1)]);
    assert_eq!(rig.arrive(task(2)), [Run(SOME, 2)]);
    assert_eq!(rig.arrive(task(3)), []);
    assert_eq!(rig.window(SOME, 3, 0), [Run(SOME, 3)]);
    assert_eq!(rig.handed[2].live.pool(), Some(PoolId(SOME)));
}

#[test]
fn a_window_that_shrinks_stops_what_is_not_on_the_way() {
    let mut rig = Rig::one_pool();
    rig.window(SOME, 5, 0);
    rig.arrive(task(1));
    assert_eq!(rig.window(SOME, 1, 0), []);
    assert_eq!(rig.arrive(task(2)), []);
    assert_eq!(rig.window(SOME, 2, 0), [Run(SOME, 2)]);
}

/// R8
#[test]
fn what_waits_goes_by_rank_and_then_by_arrival_whatever_its_lane() {
    let mut rig = Rig::one_pool();
    for (n, namespace, rank) in
        [(1, "data.x", 0), (2, "data.y", -5), (3, "data.x", -5), (4, "data.z", 3), (5, "data.y", -6)]
    {
        rig.arrive(ranked(n, namespace, rank));
    }
    assert_eq!(rig.held(), [5, 2, 3, 1, 4]);
    let order = [Run(SOME, 5), Run(SOME, 2), Run(SOME, 3), Run(SOME, 1), Run(SOME, 4)];
    assert_eq!(rig.window(SOME, 5, 0), order);
}

/// R9
#[test]
fn a_low_one_waits_behind_a_constant_flow_for_its_bound_only() {
    let mut rig = Rig::one_pool();
    let lead = 10;
    rig.arrive(ranked(0, "data.x", 0));
    let mut turns = 0;
    for n in 1.. {
        rig.arrive(ranked(n, "data.x", n as i64 - lead));
        if rig.window(SOME, n, 0) == [Run(SOME, 0)] {
            break;
        }
        turns += 1;
        assert!(turns <= lead, "it waits behind what came within its bound, no more");
    }
    assert_eq!(turns, lead - 1);
}

/// R5
#[test]
fn the_most_specific_pool_goes_first_and_the_other_helps_when_it_is_full() {
    let mut rig = Rig::two_pools();
    rig.window(SOME, 1, 0);
    rig.window(NLP, 1, 0);
    assert_eq!(rig.arrive(nlp(1)), [Run(NLP, 1)]);
    assert_eq!(rig.arrive(nlp(2)), [Run(SOME, 2)]);
    rig.arrive(nlp(3));
    assert_eq!(rig.window(SOME, 2, 0), [Run(SOME, 3)]);
    assert!(rig.held().is_empty(), "stored once, whoever takes it");
}

/// R2
#[test]
fn a_pool_gets_only_what_it_takes() {
    let mut rig = Rig::two_pools();
    rig.arrive(task(1));
    rig.arrive(nlp(2));
    assert_eq!(rig.window(NLP, 9, 0), [Run(NLP, 2)]);
    assert_eq!(rig.arrive(task(3)), []);
}

#[test]
fn a_waiting_task_is_the_demand_of_one_pool() {
    let mut rig = Rig::two_pools();
    rig.window(SOME, 0, 2);
    rig.window(NLP, 0, 1);
    assert_eq!(rig.arrive(nlp(1)), [Demand(NLP, 1)]);
    assert_eq!(rig.arrive(nlp(2)), [Demand(SOME, 1)], "the special one can grow no further");
    assert_eq!(rig.arrive(task(3)), [Demand(SOME, 2)]);
    assert_eq!(rig.arrive(nlp(4)), [], "nobody can grow any further");
}

#[test]
fn demand_moves_when_a_pool_can_grow_again() {
    let mut rig = Rig::two_pools();
    rig.window(SOME, 0, 5);
    assert_eq!(rig.arrive(nlp(1)), [Demand(SOME, 1)]);
    assert_eq!(rig.window(NLP, 0, 3), [Demand(SOME, 0), Demand(NLP, 1)]);
    assert_eq!(rig.window(NLP, 1, 3), [Run(NLP, 1), Demand(NLP, 0)]);
}

/// R17
#[test]
fn a_returned_dispatch_keeps_its_place_and_its_key() {
    let mut rig = Rig::one_pool();
    rig.window(SOME, 1, 0);
    let mut first = fixture::dispatch(1, Some(KEY), KeyLimits::SERIAL);
    let task_of_first = Task { lane: task(1).task().lane.clone(), ..first.task().clone() };
    first.live = Arc::new(Live::new(Arc::new(task_of_first), 1, Timestamp(0), 1, 1));
    assert_eq!(rig.arrive(first), [Run(SOME, 1)]);
    rig.arrive(task(2));
    rig.arrive(task(3));
    assert_eq!(rig.give_back(1), [Queued(1)]);
    assert_eq!(rig.held(), [1, 2, 3]);
    assert_eq!(rig.window(SOME, 2, 0), [Run(SOME, 1)]);
}

#[test]
fn a_returned_dispatch_goes_straight_to_another_pool_with_room() {
    let mut rig = Rig::two_pools();
    rig.window(SOME, 1, 0);
    rig.window(NLP, 1, 0);
    rig.arrive(nlp(1));
    assert_eq!(rig.give_back(1), [Run(SOME, 1)]);
}

#[test]
fn a_task_with_a_key_is_reported_once_it_waits() {
    let mut rig = Rig::one_pool();
    let mut keyed = task(1);
    let with_key = Task { key: Some(KEY), ..keyed.task().clone() };
    keyed.live = Arc::new(Live::new(Arc::new(with_key), 1, Timestamp(0), 1, 1));
    assert_eq!(rig.arrive(keyed), [Queued(1)]);
    assert_eq!(rig.queuer.get(&name(1).id).unwrap().live.stage(), At::Queued);
}

/// P1
#[test]
fn a_cancel_takes_out_what_waits() {
    let mut rig = Rig::one_pool();
    rig.window(SOME, 0, 5);
    let (first, second) = (task(1), task(2));
    let cancel = |dispatch: &Dispatch, reason| Cancel { live: Arc::clone(&dispatch.live), reason };
    let (user, expiry) = (cancel(&first, Reason::User), cancel(&second, Reason::Expired));
    rig.arrive(first);
    rig.arrive(second);
    assert_eq!(rig.tell(Event::Cancel(user.clone())), [Said::Ended(1, End::Cancelled), Demand(SOME, 1)]);
    assert_eq!(rig.tell(Event::Cancel(expiry)), [Said::Ended(2, End::Expired), Demand(SOME, 0)]);
    assert_eq!(rig.tell(Event::Cancel(user)), [Missed(1)]);
}

#[test]
fn what_is_to_be_parked_or_is_another_s_is_given_back_if_it_waits_and_followed_if_not() {
    for reason in [Reason::Park, Reason::Disowned] {
        let mut rig = Rig::one_pool();
        rig.window(SOME, 1, 0);
        let (handed, waits) = (task(1), task(2));
        let cancel = |dispatch: &Dispatch| Cancel { live: Arc::clone(&dispatch.live), reason };
        let (first, second) = (cancel(&handed), cancel(&waits));
        rig.arrive(handed);
        rig.arrive(waits);
        assert_eq!(rig.tell(Event::Cancel(first)), [ToPool(SOME, 1)]);
        assert_eq!(rig.tell(Event::Cancel(second)), [Said::Ended(2, End::Returned(Return::Drain))]);
    }
}

#[test]
fn a_cancel_follows_a_dispatch_to_its_pool_and_misses_one_on_its_way_back() {
    let mut rig = Rig::one_pool();
    rig.window(SOME, 1, 0);
    rig.arrive(task(1));
    let cancel = fixture::cancel(&rig.handed[0]);
    assert_eq!(rig.tell(Event::Cancel(cancel.clone())), [ToPool(SOME, 1)]);
    rig.handed[0].live.hand_to(None);
    assert_eq!(rig.tell(Event::Cancel(cancel)), [Missed(1)]);
}

#[test]
fn a_late_cancel_leaves_the_next_pass_alone() {
    let mut rig = Rig::one_pool();
    let late = fixture::cancel(&task(1));
    let mut second = task(1);
    second.live = Arc::new(Live::new(Arc::clone(&second.live.task), 1, Timestamp(0), 2, 2));
    rig.arrive(second);
    assert_eq!(rig.tell(Event::Cancel(late)), [Missed(1)]);
    assert_eq!(rig.held(), [1]);
}

/// P18
#[test]
fn a_drain_gives_back_in_order_what_waits_and_whatever_comes_later() {
    let mut rig = Rig::two_pools();
    rig.window(NLP, 1, 0);
    rig.arrive(nlp(1));
    rig.arrive(nlp(3));
    rig.arrive(ranked(2, "data.x", -1));
    let back = |n| Said::Ended(n, End::Returned(Return::Drain));
    assert_eq!(rig.tell(Event::Drain), [back(2), back(3), Drain(SOME), Drain(NLP)]);
    assert_eq!(rig.give_back(1), [back(1)]);
    assert_eq!(rig.arrive(task(4)), [back(4)]);
}

/// R4, R13
#[test]
fn what_no_pool_takes_waits_until_its_name_is_learned() {
    let mut router = Router::default();
    router.bind(PoolId(SOME), &["data.#".parse().unwrap()], None);
    let mut rig = Rig { queuer: Queuer::new(router), handed: Vec::new() };
    rig.window(SOME, 1, 1);
    rig.arrive(task(1));
    rig.arrive(task(2));
    assert_eq!(rig.queuer.unroutable(), 2);
    let names = vec!["copy".parse().unwrap()];
    assert_eq!(
        rig.tell(Event::Learned { pool: PoolId(SOME), names }),
        [Run(SOME, 1), Demand(SOME, 1)],
        "the rest is demand from now on"
    );
    assert_eq!(rig.queuer.unroutable(), 0);
}
