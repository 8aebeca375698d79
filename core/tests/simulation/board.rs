//! The board behind a line that may lose, delay or fail what passes. The board itself never does wrong.

use std::sync::Arc;

use taskyard_core::board::Board;
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, Ask, Asker, OwnerId, Reply, Request, Status, StoreError};
use taskyard_core::{Machine, Now, TaskId};

use crate::rng::Rng;

/// What becomes of a request.
pub(crate) fn answer(board: &mut Board, rng: &mut Rng, faults: bool, now: Now, ask: Ask) -> Option<Reply> {
    if faults && rng.permille(20) {
        return None;
    }
    if faults && rng.permille(20) {
        let answer = Err(StoreError::Unavailable("drawn by the seed".into()));
        return Some(Reply { to: ask.from, no: ask.no, answer, status: Status::default() });
    }
    let mut replies = Vec::new();
    board.handle(now, ask, &mut replies);
    let lost = faults && rng.permille(20);
    replies.pop().filter(|_| !lost)
}

/// How a task ended, as far as it is on record.
pub(crate) fn outcome(board: &mut Board, now: Now, id: TaskId) -> Option<Outcome> {
    let mut replies = Vec::new();
    let request = Arc::new(Request::Get(id));
    board.handle(
        now,
        Ask { owner: OwnerId::SOLE, from: Asker::Conductor, no: 0, request, oldest_open: 0 },
        &mut replies,
    );
    match replies.pop()?.answer.ok()? {
        Answer::Task(view) => view?.outcome,
        other => panic!("{other:?}"),
    }
}
