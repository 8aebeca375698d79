//! What every store must answer, as small scripts.
//!
//! The scripts know only the [`Rig`](rig::Rig), which asks whatever [`store`](crate::store) gives it. Each board has a test
//! binary that takes this file in as `suite`, by its path, and says beside it what its `store` is and how many drawn `SCRIPTS`
//! are played.

mod batches;
mod behind;
mod body;
mod bounds;
mod cancel;
mod claim;
mod due;
mod faults;
mod leases;
mod model;
mod order;
mod post;
mod promote;
mod prune;
mod query;
mod races;
mod reschedule;
pub(crate) mod rig;
mod routes;
mod schedules;
mod settle;
mod take_over;
pub(crate) mod task;
mod trash;
