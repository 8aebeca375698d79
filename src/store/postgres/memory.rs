//! What a store knows without asking: the lanes, about how many tasks are unfinished, and what was answered and may be asked
//! again. It is lost with the process, and so is whoever would ask again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::board::Settings;
use taskyard_core::names::Lane;
use taskyard_core::store::{Answer, Ask, OwnerId};
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

impl Before {
    pub(super) fn with(answer: Answer) -> Self {
        match answer {
            Answer::Claimed { .. } => Self::Claimed(answer),
            _ => Self::Told(answer),
        }
    }
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
        if self.told.is_late(ask) {
            return Before::Told(Answer::Claimed { rows: Vec::new(), expired: Vec::new() });
        }
        match self.told.recall(ask) {
            None => Before::New,
            Some(answer) => Before::with(answer.clone()),
        }
    }

    /// This was answered, and holds.
    pub(super) fn keep(&mut self, ask: &Ask, answer: Answer) {
        if must_be_kept(&ask.request) {
            self.told.keep(ask, answer);
        }
    }

    /// An owner that is gone asks nothing again.
    pub(super) fn forget_owner(&mut self, owner: OwnerId) {
        self.told.forget_owner(owner);
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
