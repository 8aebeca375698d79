//! The supervisor example, run for real as a user would.

mod control;
mod drains;
mod files;
mod foreign;
mod harness;
mod restart;
mod signals;
mod socket;
mod starting;
