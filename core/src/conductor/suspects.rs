//! Tasks whose last delivery ended with nobody left to report it. Each starts only after a mark of its start is committed, so
//! that the next dispatcher knows if this one dies by it, too. From the second mark on one runs at a time, so that none is
//! blamed for another; with too many marks a task is trashed before it begins.

use super::judge;
use super::ledger::After;
use super::purpose::Purpose;
use super::{Conductor, Effect};
use crate::dispatch::{Dispatch, DispatchName};
use crate::id::{PoolId, TaskId};
use crate::map::Map;
use crate::store::{Request, Settle};
use crate::task::DueAt;
use crate::time::Now;

/// So many marks, and a task runs alone among its like.
const ALONE_FROM: u32 = 2;

/// Those in the yard.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    alone: Option<DispatchName>,
    marks: Map<TaskId, Mark>,
}

/// A mark of a start.
#[derive(Debug)]
struct Mark {
    name: DispatchName,
    /// The pool that asked last.
    pool: PoolId,
    is_committed: bool,
}

impl Suspects {
    /// A dispatch begins whose task has so many marks.
    pub(super) fn begun(&mut self, name: DispatchName, marks: u32) {
        if marks >= ALONE_FROM {
            self.alone = Some(name);
        }
    }

    /// A dispatch ended.
    pub(super) fn ended(&mut self, name: DispatchName) {
        self.alone = self.alone.filter(|alone| *alone != name);
        if !self.marks.is_empty() {
            self.marks.remove(&name.id);
        }
    }

    pub(super) fn check_invariants(&self, has_begun: impl Fn(DispatchName) -> bool) {
        let names = self.marks.values().map(|mark| mark.name).chain(self.alone);
        names.for_each(|name| assert!(has_begun(name), "{name:?} ended and is a suspect still"));
    }
}

impl Conductor {
    /// Why a claimed dispatch does not begin, if it does not: what becomes of it instead.
    pub(super) fn turned_away(
        &mut self,
        now: Now,
        dispatch: &Dispatch,
        pool: PoolId,
        marks: u32,
    ) -> Option<(After, Settle)> {
        if marks > 0 && marks >= self.settings.max_deliveries {
            return Some(judge::crashed(marks));
        }
        let pauses = dispatch.due != DueAt::Now && self.ledger.pool(pool).slots == 0;
        if self.drain.is_draining() || pauses {
            return Some(judge::as_it_was(now, dispatch));
        }
        let crowded = marks >= ALONE_FROM && self.suspects.alone.is_some();
        (crowded || self.allowance.room() == 0).then(|| judge::later(now, dispatch))
    }

    /// A pool holds a slot for a suspect and asks whether it may start.
    pub(super) fn may_start(
        &mut self,
        now: Now,
        pool: PoolId,
        name: DispatchName,
        effects: &mut Vec<Effect>,
    ) {
        if self.ledger.running(name).is_none_or(|entry| entry.is_disowned()) {
            return;
        }
        match self.suspects.marks.get_mut(&name.id) {
            Some(mark) if mark.name == name => {
                mark.pool = pool;
                if mark.is_committed {
                    effects.push(Effect::Go { pool, name });
                }
            }
            _ => {
                self.suspects.marks.insert(name.id, Mark { name, pool, is_committed: false });
                self.asks.ask(now, Request::MarkStart(name), Purpose::Mark(name), effects);
            }
        }
    }

    /// `still_held`: the mark is committed. Otherwise the pool gives it back before long.
    pub(super) fn marked_start(&mut self, name: DispatchName, still_held: bool, effects: &mut Vec<Effect>) {
        let Some(mark) = self.suspects.marks.get_mut(&name.id).filter(|mark| mark.name == name) else {
            return;
        };
        if still_held {
            mark.is_committed = true;
            effects.push(Effect::Go { pool: mark.pool, name });
        } else {
            self.suspects.marks.remove(&name.id);
        }
    }
}
