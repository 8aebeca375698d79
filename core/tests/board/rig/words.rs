//! What is asked for, and answers in numbers of tasks.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::dispatch::{Failure, Outcome, TaskError, Trash};
use taskyard_core::store::{
    Answer, Claimed, Filter, PoolRoom, Posted, Request, Room, Settle, Settlement, TaskView,
};
use taskyard_core::task::{DueAt, Task};

use super::A;
use crate::suite::task::{at, id};

/// All pages, each from where the one before says.
pub(crate) fn pages(mut page: impl FnMut(u64) -> (Vec<u64>, Option<u64>)) -> Vec<u64> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let (tasks, more) = page(after);
        found.extend(tasks);
        match more {
            Some(more) if more > after => after = more,
            Some(more) => panic!("{more} is no way on from {after}"),
            None => return found,
        }
    }
}

pub(crate) fn views(tasks: &[TaskView]) -> Vec<u64> {
    tasks.iter().map(|view| view.id.0 as u64).collect()
}

/// Room in A for so many due rows and so many that are due within two seconds.
pub(crate) fn room(ready: usize, near: usize) -> Room {
    let pools = vec![PoolRoom { pool: A, ready, near }];
    Room { pools, total: ready + near, before: at(2_000) }
}

pub(crate) fn posted(answer: Answer) -> Vec<Posted> {
    match answer {
        Answer::Posted(posted) => posted,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn claimed(answer: Answer) -> (Vec<Claimed>, Vec<u64>) {
    match answer {
        Answer::Claimed { rows, expired } => (rows, tasks(&expired)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn expired(answer: Answer) -> Vec<u64> {
    match answer {
        Answer::Promoted { expired } => tasks(&expired),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn cancelled(answer: Answer) -> (Vec<u64>, Vec<u64>) {
    match answer {
        Answer::Cancelled { tasks: gone, ended, .. } => (tasks(&gone), numbers(&ended)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn settled(answer: &Answer) -> bool {
    match answer {
        Answer::Settled(settled) => settled.iter().all(|settled| settled.accepted),
        other => panic!("{other:?}"),
    }
}

pub(super) fn tasks(tasks: &[Arc<Task>]) -> Vec<u64> {
    tasks.iter().map(|task| task.id.0 as u64).collect()
}

pub(crate) fn numbers(ids: &[TaskId]) -> Vec<u64> {
    ids.iter().map(|id| id.0 as u64).collect()
}

pub(crate) fn ids(rows: &[Claimed]) -> Vec<u64> {
    rows.iter().map(|row| row.task.id.0 as u64).collect()
}

pub(crate) fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

pub(crate) fn only(ids: &[u64]) -> Filter {
    Filter { ids: ids.iter().map(|n| id(*n)).collect(), ..Filter::default() }
}

pub(crate) fn done() -> Settle {
    Settle::Done(Outcome::Succeeded("null".into()))
}

/// A settlement by an owner that knows no more of the row than its dispatch.
pub(crate) fn settlement(n: u64, epoch: u32, settle: Settle) -> Request {
    Request::Settle(vec![Settlement { id: id(n), sequence: 1, epoch, settle, posts: Vec::new() }])
}

pub(crate) fn failure() -> Failure {
    let (kind, message) = ("Broken".into(), "for a test".into());
    Failure::Error(Box::new(TaskError { kind, message, trace: None, retry: true }))
}

pub(crate) fn retry(ms: u64) -> Settle {
    Settle::Retry { due: at(ms), error: failure() }
}

/// Back to its place, due as it was.
pub(crate) fn give_back() -> Settle {
    Settle::GiveBack { due: Some(DueAt::Now), setback: false, renew: false, started: true }
}

pub(crate) fn trash() -> Settle {
    Settle::Trash(Outcome::Trashed(Trash::Refused(failure())))
}
