//! Scripts for the Blocker: alone where the order of messages matters, else together with InProgress.

mod policies;
mod races;
mod random;
mod world;
