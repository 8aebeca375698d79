//! Random runs: whatever the order of delivery across pairs, limits hold, everything ends, and nothing stays stuck.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::world::{Pair, Role, World};
use crate::dispatch::{Cancel, Dispatch, DispatchName, End, Reason};
use crate::keys::fixture;
use crate::live::Live;
use crate::machine::Stage;
use crate::task::{Key, KeyLimits, Overflow};
use crate::wiring::Mail;
use crate::{blocker, queuer};

const POLICIES: [KeyLimits; 6] = [
    KeyLimits::PARALLEL,
    KeyLimits::SERIAL,
    KeyLimits::DISCARD,
    KeyLimits::QUEUE_ONE,
    KeyLimits::REPLACE,
    KeyLimits { running: 3, waiting: 2, overflow: Overflow::DropWaiting },
];
/// The key on which policies meet; every other key has the policy of its number.
const MIXED: u64 = POLICIES.len() as u64;

/// A linear congruential generator: the seed replays the run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Run {
    dice: Dice,
    world: World,
    lives: Vec<Arc<Live>>,
}

impl Run {
    fn step(&mut self) {
        match self.dice.below(12) {
            0 => self.submit(),
            1 => self.cancel(),
            2 => self.end_one(),
            3 => self.retry(),
            _ => self.deliver_one(),
        }
        for key in 0..MIXED {
            let limit = POLICIES[key as usize].running;
            assert!(self.world.in_progress_of(Key(key.into())) <= limit, "key {key} is over its limit");
        }
    }

    fn submit(&mut self) {
        let (n, key) = (self.lives.len() as u64, self.dice.below(MIXED + 1));
        let policy = if key == MIXED { self.dice.below(MIXED) } else { key };
        let mut dispatch = fixture::dispatch(n, Some(Key(key.into())), POLICIES[policy as usize]);
        dispatch.order.rank = self.dice.below(3) as i64;
        self.lives.push(self.world.dispatch(dispatch));
    }

    fn cancel(&mut self) {
        if !self.lives.is_empty() {
            let live = Arc::clone(&self.lives[self.dice.below(self.lives.len() as u64) as usize]);
            self.world.cancel(Cancel { live, reason: Reason::User });
        }
    }

    fn end_one(&mut self) {
        if !self.world.passed.is_empty() {
            let at = self.dice.below(self.world.passed.len() as u64) as usize;
            self.world.end(at, End::Succeeded("1".into()), Role::Pool);
        }
    }

    /// A task that ended runs again, as the next pass.
    fn retry(&mut self) {
        let Some((name, End::Succeeded(_))) = self.world.ended.last().cloned() else { return };
        let old = &self.lives[name.id.0 as usize];
        if old.epoch != name.epoch {
            return;
        }
        let live = Arc::new(Live::new(Arc::clone(&old.task), old.sequence, old.posted, old.epoch + 1, 2));
        let mut dispatch = fixture::dispatch(old.sequence, old.task.key, old.task.limits);
        (dispatch.live, dispatch.judged) = (Arc::clone(&live), true);
        self.lives[name.id.0 as usize] = self.world.dispatch(dispatch);
    }

    fn deliver_one(&mut self) {
        let pairs: Vec<Pair> = self.world.mail.keys().copied().collect();
        if pairs.is_empty() {
            return;
        }
        let pair = pairs[self.dice.below(pairs.len() as u64) as usize];
        let passed_before = self.passed().count();
        self.world.deliver(pair);
        if pair.1 == Role::Blocker {
            self.passed().skip(passed_before).for_each(|dispatch| self.check_turn(dispatch));
        }
    }

    /// What is on its way from the Blocker to the Queuer.
    fn passed(&self) -> impl Iterator<Item = &Dispatch> {
        let mail = self.world.mail.get(&(Role::Blocker, Role::Queuer));
        mail.into_iter().flatten().filter_map(|mail| match mail {
            Mail::Queuer(queuer::Event::Dispatch(dispatch)) => Some(&**dispatch),
            _ => None,
        })
    }

    /// Where all twins have one policy, none goes before one that was found to have to wait and is before it in order.
    fn check_turn(&self, passed: &Dispatch) {
        let mut before = self.world.blocker.held().take_while(|held| held.order < passed.order);
        let mixed = passed.key() == Some(Key(MIXED.into()));
        let jumped = before.find(|held| held.judged && held.live.attempt == 1 && held.key() == passed.key());
        assert!(mixed || jumped.is_none(), "{passed:?} went before {jumped:?}");
    }

    /// Faults stop: what is in progress ends, all mail arrives.
    fn finish(&mut self) {
        while !self.world.mail.is_empty() || !self.world.passed.is_empty() {
            self.end_one();
            for _ in 0..4 {
                self.deliver_one();
            }
        }
    }

    fn check_ends(&self) {
        self.world.assert_nothing_left();
        let mut ends: BTreeMap<DispatchName, usize> = BTreeMap::new();
        self.world.ended.iter().for_each(|(name, _)| *ends.entry(*name).or_default() += 1);
        assert!(ends.values().all(|count| *count == 1), "a dispatch ended twice");
        let passes: usize = self.lives.iter().map(|live| live.epoch as usize).sum();
        assert_eq!(ends.len(), passes, "a dispatch did not end");
    }
}

fn run(seed: u64, drain: bool) {
    let mut run = Run { dice: Dice(seed), world: World::default(), lives: Vec::new() };
    (0..1_500).for_each(|_| run.step());
    if drain {
        run.world.send(Role::Delayer, Mail::Blocker(blocker::Event::Drain));
    }
    run.finish();
    run.check_ends();
    assert_eq!(run.world.drained, drain);
}

/// P2, P3, P15: nothing stays blocked for ever, whatever crosses on the way.
#[test]
fn whatever_the_order_of_delivery_limits_hold_and_everything_ends() {
    for seed in 0..60 {
        let outcome = std::panic::catch_unwind(|| run(seed, seed % 3 == 0));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
