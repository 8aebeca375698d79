//! What a store knows without asking: the lanes, about how many tasks are unfinished, and what was answered and may be asked
//! again. It is lost with the process, and so is whoever would ask again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::board::Settings;
use taskyard_core::id::PoolId;
use taskyard_core::names::Lane;
use taskyard_core::store::{Answer, Ask, Claimed, OwnerId, Request};
use taskyard_core::time::micros;

use super::row::lost_lane;
use crate::store::lanes::{LaneNo, Lanes};
use crate::store::remembered::{Remembered, must_be_kept};
use crate::store::setup::{Defaults, Setup};

/// See the [module](self).
pub(super) struct Memory {
    pub(super) settings: Settings,
    pub(super) result_max: usize,
    pub(super) defaults: Defaults,
    pub(super) lanes: Lanes,
    pub(super) unfinished: Unfinished,
    told: Remembered<Answer>,
    /// The last claim and the last preload for each pool, with its number.
    claims: BTreeMap<(OwnerId, PoolId, bool), (u64, Vec<Claimed>)>,
}

/// What is known of an ask that was asked before.
pub(super) enum Before {
    /// Nothing: it must be done.
    New,
    /// This was the answer.
    Told(Answer),
    /// It was a claim of these rows, of which some may be settled.
    Claimed(Answer),
}

impl Memory {
    pub(super) fn new(setup: Setup) -> Self {
        let Setup { board: settings, result_max, router, defaults } = setup;
        Self {
            settings,
            result_max,
            defaults,
            lanes: Lanes::new(router),
            unfinished: Unfinished::default(),
            told: Remembered::default(),
            claims: BTreeMap::new(),
        }
    }

    /// What a place in the order costs or gains by priority, in microseconds.
    pub(super) fn aging(&self) -> i64 {
        // Nine times as much must be far from the end of time.
        micros(self.settings.aging).min(1 << 55)
    }

    pub(super) fn lane(&self, number: LaneNo) -> Arc<Lane> {
        self.lanes.lane(number).map_or_else(lost_lane, Arc::clone)
    }

    /// What was answered when this was asked before.
    pub(super) fn recall(&mut self, ask: &Ask) -> Before {
        let told = self.told.recall(ask).cloned();
        match claim_of(ask).and_then(|claim| self.claims.get(&claim)) {
            // Its answer came long ago.
            Some((last, _)) if ask.no < *last => Before::Told(told.unwrap_or_else(nothing)),
            Some((last, rows)) if ask.no == *last => {
                let expired = match told {
                    Some(Answer::Claimed { expired, .. }) => expired,
                    _ => Vec::new(),
                };
                Before::Claimed(Answer::Claimed { rows: rows.clone(), expired })
            }
            Some(_) => Before::New,
            None => told.map_or(Before::New, Before::Told),
        }
    }

    /// This was answered, and holds.
    pub(super) fn keep(&mut self, ask: &Ask, answer: &Answer) {
        let mut answer = answer.clone();
        if let (Some(claim), Answer::Claimed { rows, expired }) = (claim_of(ask), &mut answer) {
            self.claims.insert(claim, (ask.no, std::mem::take(rows)));
            if expired.is_empty() {
                return;
            }
        }
        if must_be_kept(&ask.request) {
            self.told.keep(ask, answer);
        }
    }

    /// An owner that is gone asks nothing again.
    pub(super) fn forget_owner(&mut self, owner: OwnerId) {
        self.told.forget_owner(owner);
        self.claims.retain(|(of, ..), _| *of != owner);
    }
}

fn nothing() -> Answer {
    Answer::Claimed { rows: Vec::new(), expired: Vec::new() }
}

/// By what a claim or a preload is remembered.
fn claim_of(ask: &Ask) -> Option<(OwnerId, PoolId, bool)> {
    match &*ask.request {
        Request::Claim { pool, .. } => Some((ask.owner, *pool, false)),
        Request::Preload { pool, .. } => Some((ask.owner, *pool, true)),
        _ => None,
    }
}

/// For so long others' tasks are not counted anew.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// How many tasks are unfinished: what was counted last, and what was added and taken away here since. What other
/// dispatchers do in between is not in it.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    counted: Option<Instant>,
    tasks: i64,
}

impl Unfinished {
    pub(super) fn is_old(&self) -> bool {
        self.counted.is_none_or(|at| at.elapsed() > COUNT_EVERY)
    }

    pub(super) fn counted(&mut self, tasks: i64) {
        *self = Self { counted: Some(Instant::now()), tasks };
    }

    pub(super) fn change(&mut self, by: i64) {
        self.tasks += by;
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks.max(0) as usize
    }
}
