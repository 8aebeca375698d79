//! The Conductor with a memory board, by small scripts: the test is the edge, the stages and the pool.

mod admission;
mod cancel;
mod claims;
mod disowned;
mod drain;
mod elsewhere;
mod end;
mod outage;
mod owner;
mod reschedule;
mod room;
mod shared;
mod soak;
mod store;
mod suspects;
mod yard;
