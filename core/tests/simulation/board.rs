//! The board behind a line that may lose, delay or fail what passes. The board itself never does wrong.

use std::sync::Arc;

use taskyard_core::board::Board;
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{
    Answer, Ask, Asker, OwnerId, OwnerView, Reply, Request, Status, StoreError, TaskView,
};
use taskyard_core::{Machine, Now, TaskId};

use crate::checks::Checks;
use crate::rng::Rng;

/// What becomes of a request. `now` is the asking node's.
pub(crate) fn answer(
    board: &mut Board,
    checks: &mut Checks,
    rng: &mut Rng,
    faults: bool,
    now: Now,
    ask: Ask,
) -> Option<Reply> {
    let drawn = "drawn by the seed".to_string();
    let failed =
        |error| Some(Reply { to: ask.from, no: ask.no, answer: Err(error), status: Status::default() });
    if faults && rng.permille(20) {
        return None;
    }
    if faults && rng.permille(20) {
        return failed(StoreError::Unavailable(drawn));
    }
    if faults && rng.permille(5) {
        return failed(StoreError::Unknown(drawn));
    }
    let mut replies = Vec::new();
    board.handle(now, ask.clone(), &mut replies);
    let reply = replies.pop().expect("one reply a request");
    checks.board_said(now, &ask, &reply.answer);
    if faults && rng.permille(5) {
        return failed(StoreError::Unknown(drawn));
    }
    let lost = faults && rng.permille(20);
    Some(reply).filter(|_| !lost)
}

/// How the board stands, for a gateway that looks.
pub(crate) fn status(board: &mut Board, now: Now) -> Status {
    ask(board, now, Request::Count).status
}

/// How a task ended, as far as it is on record.
pub(crate) fn outcome(board: &mut Board, now: Now, id: TaskId) -> Option<Outcome> {
    view(board, now, id)?.outcome
}

/// What the board knows of a task.
pub(crate) fn view(board: &mut Board, now: Now, id: TaskId) -> Option<Box<TaskView>> {
    match ask(board, now, Request::Get(id)).answer {
        Ok(Answer::Task(view)) => view,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn owners(board: &mut Board, now: Now) -> Vec<OwnerView> {
    match ask(board, now, Request::Owners).answer {
        Ok(Answer::Owners(owners)) => owners,
        other => panic!("{other:?}"),
    }
}

/// Looks without leaving a trace.
fn ask(board: &mut Board, now: Now, request: Request) -> Reply {
    let mut replies = Vec::new();
    let (owner, from, request) = (OwnerId::SOLE, Asker::Conductor, Arc::new(request));
    board.handle(now, Ask { owner, from, no: 0, request, oldest_open: 0 }, &mut replies);
    replies.pop().expect("one reply a request")
}
