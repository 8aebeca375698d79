//! The Conductor with a memory board, by small scripts: the test is the edge, the stages and the pool.

mod admission;
mod cancel;
mod claims;
mod disowned;
mod drain;
mod end;
mod owner;
mod shared;
mod store;
mod yard;
