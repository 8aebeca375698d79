//! An unfinished task as its row says it, without its body. Nothing is read or written here.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use taskyard_core::TaskId;
use taskyard_core::dispatch::Order;
use taskyard_core::filing;
use taskyard_core::id::{Epoch, PoolId, Sequence};
use taskyard_core::names::Lane;
use taskyard_core::store::{BatchId, Claimed, OwnerId, RowState};
use taskyard_core::task::{DueAt, Key, KeyLimits, Priority, Task};
use taskyard_core::time::Timestamp;

use super::Sql;
use super::mirror::ParkedPlace;
use crate::store::lanes::LaneNo;
use crate::store::reading::Stored;
use crate::store::record;

/// The head of a query for [`Row`]s.
macro_rules! select_rows {
    ($tail:literal) => {
        concat!(
            "SELECT sequence, id, lane, state, priority, rank, due, posted, expires, key, key_limit, key_waiting,
             key_overflow, counted, judged, owner, epoch, attempts, setbacks, crash_marks, marked, unwanted,
             batch, body IS NULL FROM task ",
            $tail
        )
    };
}
pub(super) use select_rows;

/// Bodies beyond this stand aside, in bytes, so that a change of state does not write them anew.
const BODY_IN_ROW: usize = 1 << 10;

/// Where a body stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyPlace {
    InRow,
    /// In a table of its own.
    Aside,
}

impl BodyPlace {
    pub(super) fn of(body: &str) -> Self {
        if body.len() > BODY_IN_ROW { Self::Aside } else { Self::InRow }
    }
}

/// An unfinished task.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) sequence: Sequence,
    pub(super) id: TaskId,
    pub(super) lane: LaneNo,
    pub(super) state: RowState,
    pub(super) priority: Priority,
    /// `None`: as due, posted and priority say.
    pub(super) rank: Option<i64>,
    pub(super) due: Timestamp,
    pub(super) posted: Timestamp,
    pub(super) expires: Option<Timestamp>,
    pub(super) key: Option<Key>,
    pub(super) limits: KeyLimits,
    pub(super) counted: bool,
    pub(super) judged: bool,
    /// Whose the latest pass is or was.
    pub(super) owner: OwnerId,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) setbacks: u32,
    pub(super) crash_marks: u32,
    /// The pass of the latest crash mark: a repeated mark counts once.
    pub(super) marked: Option<Epoch>,
    /// Somebody wants it cancelled while another has it: it must not run again.
    pub(super) unwanted: bool,
    pub(super) batch: Option<BatchId>,
    pub(super) body: BodyPlace,
}

impl Row {
    /// Of a task that comes in: due at once, and nobody's yet.
    pub(super) fn new(sequence: Sequence, task: &Task, lane: LaneNo, posted: Timestamp) -> Self {
        Self {
            sequence,
            id: task.id,
            lane,
            state: RowState::Parked,
            priority: task.priority,
            rank: None,
            due: posted,
            posted,
            expires: None,
            key: task.key,
            limits: task.limits,
            counted: false,
            judged: false,
            owner: OwnerId::SOLE,
            epoch: 0,
            attempts: 0,
            setbacks: 0,
            crash_marks: 0,
            marked: None,
            unwanted: false,
            batch: None,
            body: BodyPlace::of(task.body.text()),
        }
    }

    pub(super) fn read(row: &rusqlite::Row<'_>) -> Sql<Self> {
        Ok(Self {
            sequence: row.get::<_, i64>(0)? as u64,
            id: TaskId(wide(row.get_ref(1)?)),
            lane: LaneNo(row.get(2)?),
            state: record::state(row.get(3)?),
            priority: record::priority(row.get(4)?),
            rank: row.get(5)?,
            due: Timestamp(row.get(6)?),
            posted: Timestamp(row.get(7)?),
            expires: row.get::<_, Option<i64>>(8)?.map(Timestamp),
            key: key(row.get_ref(9)?),
            limits: limits(row, 10)?,
            counted: row.get(13)?,
            judged: row.get(14)?,
            owner: OwnerId(row.get::<_, Option<i64>>(15)?.unwrap_or_default() as u64),
            epoch: row.get::<_, i64>(16)? as u32,
            attempts: row.get::<_, i64>(17)? as u32,
            setbacks: row.get::<_, i64>(18)? as u32,
            crash_marks: row.get::<_, i64>(19)? as u32,
            marked: row.get::<_, Option<i64>>(20)?.map(|epoch| epoch as u32),
            unwanted: row.get(21)?,
            batch: row.get::<_, Option<i64>>(22)?.map(|batch| BatchId(batch as u64)),
            body: if row.get(23)? { BodyPlace::Aside } else { BodyPlace::InRow },
        })
    }

    /// Its place in the order.
    pub(super) fn order(&self, aging: i64) -> Order {
        let order = filing::order(self.priority, self.due, self.posted, self.sequence, aging);
        Order { rank: self.rank.unwrap_or(order.rank), ..order }
    }

    /// Its place among the parked.
    pub(super) fn parked_place(&self) -> ParkedPlace {
        (self.due, 9 - i16::from(self.priority.get()), self.sequence)
    }

    /// The key of which only a bounded number is ready or claimed, with how many may run.
    pub(super) fn serial_key(&self) -> Option<(Key, u32)> {
        filing::serial_key(self.key, self.limits)
    }

    /// Whether it must be judged against the others of its key before it counts.
    pub(super) fn must_be_judged(&self) -> bool {
        filing::must_be_judged(self.key, self.limits, self.judged)
    }

    pub(super) fn is_held_by(&self, owner: OwnerId) -> bool {
        self.state == RowState::Claimed && self.owner == owner
    }

    /// What it says of its task.
    pub(super) fn stored(&self, lane: Arc<Lane>) -> Stored {
        Stored { id: self.id, lane, priority: self.priority, key: self.key, limits: self.limits }
    }

    /// Its claim, for a pool.
    pub(super) fn claimed(&self, task: Arc<Task>, pool: PoolId, due: DueAt, aging: i64) -> Claimed {
        Claimed {
            task,
            pool,
            order: self.order(aging),
            epoch: self.epoch,
            attempts: self.attempts,
            setbacks: self.setbacks,
            crash_marks: self.crash_marks,
            due,
            expires: self.expires,
            judged: self.judged,
            unjudged: self.must_be_judged(),
            posted: self.posted,
        }
    }
}

/// The limits of a key in three columns; without any: parallel.
pub(super) fn limits(row: &rusqlite::Row<'_>, first: usize) -> Sql<KeyLimits> {
    let bound =
        |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(|bound| bound as u32));
    let overflow: Option<i16> = row.get(first + 2)?;
    Ok(record::limits(bound(first)?, bound(first + 1)?, overflow.unwrap_or_default()))
}

/// A key in a column.
pub(super) fn key(value: ValueRef<'_>) -> Option<Key> {
    (value != ValueRef::Null).then(|| Key(wide(value)))
}

/// An id or a key: 16 bytes, the highest first, so that ids of version 7 are in order of time.
pub(super) fn wide(value: ValueRef<'_>) -> u128 {
    let bytes = value.as_blob().unwrap_or_default();
    bytes.try_into().map_or(0, u128::from_be_bytes)
}

/// An id as it stands in a column.
pub(super) fn id_bytes(id: TaskId) -> [u8; 16] {
    id.0.to_be_bytes()
}

/// A key as it stands in a column.
pub(super) fn key_bytes(key: Key) -> [u8; 16] {
    let Key(key) = key;
    key.to_be_bytes()
}
