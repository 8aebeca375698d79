//! The board behind a line that may lose, delay or fail what passes. The board itself never does wrong.

use taskyard_core::board::Board;
use taskyard_core::store::{Ask, Reply, StoreError};
use taskyard_core::{Machine, Now};

use crate::rng::Rng;

/// What becomes of a request.
pub(crate) fn answer(board: &mut Board, rng: &mut Rng, faults: bool, now: Now, ask: Ask) -> Option<Reply> {
    if faults && rng.permille(20) {
        return None;
    }
    if faults && rng.permille(20) {
        let (no, answer) = (ask.no, Err(StoreError("drawn by the seed".into())));
        let (ready, unjudged) = Default::default();
        return Some(Reply { no, answer, ready, unjudged, next_due: None, next_expiry: None });
    }
    let mut replies = Vec::new();
    board.handle(now, ask, &mut replies);
    let lost = faults && rng.permille(20);
    replies.pop().filter(|_| !lost)
}
