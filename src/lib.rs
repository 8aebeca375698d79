//! An actor-model task dispatcher: tasks now, later, on a schedule and again after a failure, in supervised workers.

pub mod config;
pub mod control;
pub mod producers;
pub mod schedule;
