//! The table of unfinished tasks: each row that comes, changes or goes is counted and takes its place among the heads here,
//! and nowhere else. What a change means is decided by whoever asks for it.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::TaskId;
use taskyard_core::dispatch::Trash;
use taskyard_core::id::Sequence;
use taskyard_core::store::{OwnerId, RowState};
use taskyard_core::task::{KeyLimits, Task};
use taskyard_core::time::{Timestamp, earlier};

use super::Sql;
use super::late::Added;
use super::mirror::{Expiry, Mirror, ParkedPlace, Place};
use super::row::{BodyPlace, Row, id_bytes, select_rows};
use super::turn::Turn;
use crate::store::reading;
use crate::store::record::{limit_columns, state_code};

/// What the numbers and heads of the board must know of a row.
#[derive(Debug, Clone, Copy)]
struct Trace {
    state: RowState,
    due: Timestamp,
    rank: Option<i64>,
}

impl Trace {
    fn of(row: &Row) -> Self {
        Self { state: row.state, due: row.due, rank: row.rank }
    }
}

impl Turn<'_> {
    pub(super) fn row_of(&self, id: TaskId) -> Sql<Option<Row>> {
        self.db()?.prepare_cached(ROW_BY_ID)?.query_row([id_bytes(id)], Row::read).optional()
    }

    pub(super) fn row_at(&self, sequence: Sequence) -> Sql<Option<Row>> {
        if let Some(row) = self.mirror.claimed(sequence) {
            return Ok(Some(row.clone()));
        }
        self.db()?.prepare_cached(ROW_BY_SEQUENCE)?.query_row([sequence as i64], Row::read).optional()
    }

    /// The task of a row; a reason if it can't be understood.
    pub(super) fn task_of(&mut self, row: &Row) -> Sql<Result<Arc<Task>, Trash>> {
        let stored = row.stored(self.mirror.lane(self.others, row.lane)?);
        let query = if row.body == BodyPlace::Aside { LARGE_BODY } else { BODY };
        let mut body = self.db()?.prepare_cached(query)?;
        let mut found = body.query([row.sequence as i64])?;
        Ok(match found.next()? {
            Some(found) => reading::task(found.get_ref(0)?.as_bytes()?, stored, &self.rules.defaults),
            None => Err(Trash::Unreadable("its body is missing".into())),
        })
    }

    /// Adds a row whose id is new, with its body.
    pub(super) fn insert(&mut self, row: &Row, task: &Arc<Task>) -> Sql<()> {
        if row.body == BodyPlace::Aside {
            let body = params![row.sequence as i64, task.body.text()];
            self.others.prepare_cached(INSERT_BODY)?.execute(body)?;
        }
        let space = row.serial_key().map(|_| self.mirror.tallies.get(row.lane).space);
        let added = Added { row: row.clone(), space, task: Arc::clone(task) };
        self.late.borrow_mut().add(self.others, added)?;
        self.mirror.newest = self.mirror.newest.max(Some(row.id));
        self.mirror.came(row, Trace::of(row), None);
        self.mirror.know(row);
        Ok(())
    }

    /// Writes what changes of a row. `before` is the row as it stands in the table.
    pub(super) fn update(&mut self, before: &Row, row: &Row) -> Sql<()> {
        self.db()?.prepare_cached(UPDATE)?.execute(params![
            state_code(row.state),
            row.rank,
            row.due.0,
            row.posted.0,
            row.counted,
            row.judged,
            owner(row),
            row.epoch,
            row.attempts,
            row.setbacks,
            row.crash_marks,
            row.marked,
            row.unwanted,
            row.sequence as i64,
        ])?;
        let (old, new) = (Trace::of(before), Trace::of(row));
        self.mirror.went(row, old, Some(new.state));
        self.mirror.came(row, new, Some(old.state));
        self.mirror.know(row);
        Ok(())
    }

    /// Takes a row out, with its body.
    pub(super) fn delete(&mut self, row: &Row) -> Sql<()> {
        self.late.borrow_mut().take_out(self.others, row.sequence)?;
        if row.body == BodyPlace::Aside {
            self.others
                .prepare_cached("DELETE FROM body WHERE sequence = ?1")?
                .execute([row.sequence as i64])?;
        }
        self.mirror.went(row, Trace::of(row), None);
        self.mirror.forget_row(row.sequence);
        Ok(())
    }
}

impl Mirror {
    /// A row is in a state now, from another or (`None`) from outside.
    fn came(&mut self, row: &Row, new: Trace, from: Option<RowState>) {
        let pools = self.lanes.pools(row.lane);
        self.tallies.moves(row.lane, pools, from, Some(new.state));
        match new.state {
            RowState::Parked => self.parked.came(row.lane, pools, parked_place(row, new)),
            RowState::Ready => self.ready.came(row.lane, pools, place(row, new)),
            RowState::Unjudged => self.unjudged.came(row.lane, pools, place(row, new)),
            _ => {}
        }
        if let Expiry::First(first) = self.next_expiry
            && new.state != RowState::Claimed
        {
            self.next_expiry = Expiry::First(earlier(first, row.expires));
        }
    }

    /// A row is no longer in a state, but in another or (`None`) outside. The move itself is counted where it arrives.
    fn went(&mut self, row: &Row, old: Trace, to: Option<RowState>) {
        let pools = self.lanes.pools(row.lane);
        if to.is_none() {
            self.tallies.moves(row.lane, pools, Some(old.state), None);
        }
        match old.state {
            RowState::Parked => self.parked.went(row.lane, pools, parked_place(row, old)),
            RowState::Ready => self.ready.went(row.lane, pools, place(row, old)),
            RowState::Unjudged => self.unjudged.went(row.lane, pools, place(row, old)),
            _ => {}
        }
        if row.expires.is_some() && self.next_expiry == Expiry::First(row.expires) {
            self.next_expiry = Expiry::Unknown;
        }
    }
}

fn parked_place(row: &Row, trace: Trace) -> ParkedPlace {
    (trace.due, 9 - i16::from(row.priority.get()), row.sequence)
}

fn place(row: &Row, trace: Trace) -> Place {
    (trace.rank.unwrap_or_default(), row.sequence)
}

/// Whose the latest pass is; nobody's before the first.
pub(super) fn owner(row: &Row) -> Option<i64> {
    (row.epoch > 0 || row.owner != OwnerId::SOLE).then_some(row.owner.0 as i64)
}

/// Written only where there is a key and a limit.
pub(super) fn key_limits(row: &Row) -> (Option<u32>, Option<u32>, Option<i16>) {
    if row.key.is_none() || row.limits == KeyLimits::PARALLEL {
        return (None, None, None);
    }
    let (running, waiting, overflow) = limit_columns(row.limits);
    (running, waiting, Some(overflow))
}

const ROW_BY_ID: &str = select_rows!("WHERE id = ?1");
const ROW_BY_SEQUENCE: &str = select_rows!("WHERE sequence = ?1");
const BODY: &str = "SELECT body FROM task WHERE sequence = ?1";
const LARGE_BODY: &str = "SELECT text FROM body WHERE sequence = ?1";
const INSERT_BODY: &str = "INSERT INTO body (sequence, text) VALUES (?1, ?2)";
const UPDATE: &str =
    "UPDATE task SET state = ?1, rank = ?2, due = ?3, posted = ?4, counted = ?5, judged = ?6,
        owner = ?7, epoch = ?8, attempts = ?9, setbacks = ?10, crash_marks = ?11, marked = ?12, unwanted = ?13
    WHERE sequence = ?14";
