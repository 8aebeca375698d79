//! What every store must answer, as small scripts against the memory board.
//!
//! The modules know only the [`Rig`](rig::Rig), which asks whatever [`store`] gives it: another store runs the same suite
//! with its own `store`.

mod behind;
mod bounds;
mod cancel;
mod claim;
mod order;
mod post;
mod promote;
mod query;
mod reschedule;
mod rig;
mod routes;
mod settle;
mod task;

use taskyard_core::Machine;
use taskyard_core::board::{Board, Settings};
use taskyard_core::router::Router;
use taskyard_core::store::{Ask, Reply};

/// The store under test.
pub(crate) fn store(settings: Settings, router: Router) -> Box<dyn Machine<Event = Ask, Effect = Reply>> {
    Box::new(Board::new(settings, router))
}
