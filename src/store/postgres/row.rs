//! A row of the tables as it comes from the server, and the task, claim or view that it stands for.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::{Order, Trash};
use taskyard_core::filing;
use taskyard_core::id::PoolId;
use taskyard_core::names::{Lane, Namespace};
use taskyard_core::store::{Claimed, OwnerId, RowState, TaskView};
use taskyard_core::task::{Body, Due, DueAt, Key, KeyLimits, Task};
use taskyard_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::clock::Skew;
use super::memory::Memory;
use crate::store::lanes::LaneNo;
use crate::store::reading::{self, Stored};
use crate::store::record;

/// The columns that [`TaskRow::read`] reads, in its order.
macro_rules! task_columns {
    () => {
        "sequence, id, lane, rank, due, posted, expires, owner, key, key_limit, key_waiting, epoch, attempts, setbacks, \
         crash_marks, state, priority, overflow, judged, last_error, body"
    };
}
pub(super) use task_columns;

/// An unfinished task.
pub(super) struct TaskRow {
    pub(super) sequence: i64,
    pub(super) id: TaskId,
    pub(super) lane: LaneNo,
    rank: i64,
    pub(super) due: Timestamp,
    posted: Timestamp,
    expires: Option<Timestamp>,
    pub(super) owner: OwnerId,
    key: Option<Key>,
    limits: KeyLimits,
    pub(super) epoch: u32,
    attempts: u32,
    setbacks: u32,
    crash_marks: u32,
    pub(super) state: RowState,
    priority: i16,
    judged: bool,
    last_error: Option<String>,
    body: Vec<u8>,
}

pub(super) fn task_id(id: Uuid) -> TaskId {
    TaskId(id.as_u128())
}

pub(super) fn uuid(id: TaskId) -> Uuid {
    Uuid::from_u128(id.0)
}

pub(super) fn key_uuid(key: Key) -> Uuid {
    Uuid::from_u128(key.0)
}

/// What twins have in common: their key and their namespace, as one number.
pub(super) fn twins(key: Key, namespace: &Namespace) -> Uuid {
    uuid(TaskId(key.0).derived(namespace.as_str().as_bytes()))
}

fn limits(running: Option<i32>, waiting: Option<i32>, overflow: i16) -> KeyLimits {
    record::limits(running.map(|n| n as u32), waiting.map(|n| n as u32), overflow)
}

impl TaskRow {
    pub(super) fn read(row: &Row) -> Self {
        let number = |column: usize| row.get::<_, i32>(column) as u32;
        Self {
            sequence: row.get(0),
            id: task_id(row.get(1)),
            lane: LaneNo(row.get(2)),
            rank: row.get(3),
            due: Timestamp(row.get(4)),
            posted: Timestamp(row.get(5)),
            expires: row.get::<_, Option<i64>>(6).map(Timestamp),
            owner: OwnerId(row.get::<_, i64>(7) as u64),
            key: row.get::<_, Option<Uuid>>(8).map(|key| Key(key.as_u128())),
            limits: limits(row.get(9), row.get(10), row.get(17)),
            epoch: number(11),
            attempts: number(12),
            setbacks: number(13),
            crash_marks: number(14),
            state: record::state(row.get(15)),
            priority: row.get(16),
            judged: row.get(18),
            last_error: row.get(19),
            body: row.get(20),
        }
    }

    pub(super) fn order(&self) -> Order {
        Order { rank: self.rank, sequence: self.sequence as u64 }
    }

    fn stored(&self, memory: &Memory) -> Stored {
        Stored {
            id: self.id,
            lane: memory.lane(self.lane),
            priority: record::priority(self.priority),
            key: self.key,
            limits: self.limits,
        }
    }

    /// The task; or why it can't be understood.
    pub(super) fn task(&self, memory: &Memory) -> Result<Arc<Task>, Trash> {
        reading::task(&self.body, self.stored(memory), &memory.defaults)
    }

    /// The task, or one that stands for it where only its name matters.
    pub(super) fn task_or_stand_in(&self, memory: &Memory) -> Arc<Task> {
        self.task(memory).unwrap_or_else(|_| stand_in(self.stored(memory)))
    }

    /// The claim of this row. `due`: when the yard must wait for it.
    pub(super) fn claimed(&self, task: Arc<Task>, pool: PoolId, due: DueAt, skew: Skew) -> Claimed {
        Claimed {
            pool,
            order: self.order(),
            epoch: self.epoch,
            attempts: self.attempts,
            setbacks: self.setbacks,
            crash_marks: self.crash_marks,
            due,
            expires: self.expires.map(|at| skew.to_yard(at)),
            judged: self.judged,
            unjudged: filing::must_be_judged(self.key, self.limits, self.judged),
            posted: skew.to_yard(self.posted),
            task,
        }
    }

    pub(super) fn view(&self, memory: &Memory) -> TaskView {
        TaskView {
            id: self.id,
            lane: memory.lane(self.lane),
            task: self.task(memory).ok(),
            state: self.state,
            order: Some(self.order()),
            due: Some(self.due),
            owner: (self.state == RowState::Claimed).then_some(self.owner),
            epoch: self.epoch,
            attempts: self.attempts,
            crash_marks: self.crash_marks,
            last_error: self.last_error.as_deref().map(record::failure),
            outcome: None,
            ended: None,
            log: Vec::new(),
            unroutable: memory.lanes.pools(self.lane).is_empty(),
        }
    }
}

/// Of a task that can't be understood what its row says.
fn stand_in(stored: Stored) -> Arc<Task> {
    let Stored { id, lane, priority, key, limits } = stored;
    let Some(body) = Body::new("{}".into(), 0..0, 0..0) else {
        unreachable!("nothing stands outside of the text")
    };
    Arc::new(Task {
        id,
        lane,
        body,
        due: Due::Now,
        expires: None,
        timeout: None,
        key,
        limits,
        priority,
        retry: None,
        extras: None,
    })
}

/// The columns of a task that ended, in history or in the trash, that [`EndedRow::read`] reads.
macro_rules! ended_columns {
    () => {
        "place, id, lane, owner, ended, epoch, attempts, outcome, detail"
    };
}
pub(super) use ended_columns;
/// The further columns of the trash.
macro_rules! trash_columns {
    () => {
        "place, id, lane, owner, ended, epoch, attempts, outcome, detail, crash_marks, last_error, key, key_limit, \
         key_waiting, overflow, priority, body"
    };
}
pub(super) use trash_columns;

/// A task that ended.
pub(super) struct EndedRow {
    pub(super) place: i64,
    pub(super) id: TaskId,
    pub(super) lane: LaneNo,
    view: TaskView,
}

impl EndedRow {
    pub(super) fn lane_of(row: &Row) -> LaneNo {
        LaneNo(row.get(2))
    }

    pub(super) fn read(row: &Row, memory: &Memory) -> Self {
        let (id, lane) = (task_id(row.get(1)), Self::lane_of(row));
        let detail: Option<&str> = row.get(8);
        let view = TaskView {
            id,
            lane: memory.lane(lane),
            task: None,
            state: RowState::Ended,
            order: None,
            due: None,
            owner: None,
            epoch: row.get::<_, i32>(5) as u32,
            attempts: row.get::<_, i32>(6) as u32,
            crash_marks: 0,
            last_error: None,
            outcome: Some(record::outcome(row.get(7), detail)),
            ended: Some(Timestamp(row.get(4))),
            log: Vec::new(),
            unroutable: false,
        };
        Self { place: row.get(0), id, lane, view }
    }

    /// The same, of the trash, with its task.
    pub(super) fn read_trash(row: &Row, memory: &Memory) -> Self {
        let mut ended = Self::read(row, memory);
        let stored = Stored {
            id: ended.id,
            lane: memory.lane(ended.lane),
            priority: record::priority(row.get(15)),
            key: row.get::<_, Option<Uuid>>(11).map(|key| Key(key.as_u128())),
            limits: limits(row.get(12), row.get(13), row.get(14)),
        };
        ended.view.crash_marks = row.get::<_, i32>(9) as u32;
        ended.view.last_error = row.get::<_, Option<&str>>(10).map(record::failure);
        ended.view.task = reading::task(row.get(16), stored, &memory.defaults).ok();
        ended
    }

    pub(super) fn view(self) -> TaskView {
        self.view
    }
}

/// The lane of a number that stands nowhere: somebody took it out by hand.
pub(super) fn lost_lane() -> Arc<Lane> {
    let namespace: Result<Namespace, _> = "unknown".parse();
    match (namespace, "unknown".parse()) {
        (Ok(namespace), Ok(name)) => Arc::new(Lane { namespace, name }),
        _ => unreachable!("both are names"),
    }
}
