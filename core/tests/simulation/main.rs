//! Whole yards in one thread on a virtual clock, on the shipped wiring, alone or several on one board (ARCHITECTURE.md,
//! "Simulation").
//!
//! A seed draws the tasks, the order in which mail arrives (first in, first out per pair; free across pairs) and the
//! faults. Checkers look after every step. `SIM_SEED=7` replays one seed, with `SIM_TRACE=1` mail by mail;
//! `SIM_SEEDS=100000` runs more than the usual thousand.

mod board;
mod checks;
mod delivery;
mod disturbances;
mod edge;
mod mail;
mod node;
mod rng;
mod shape;
mod tally;
mod tasks;
mod time;
mod turns;
mod workers;
mod world;

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tally::Tally;
use world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Says which seed failed, whatever the panic.
struct Announce(u64);

impl Drop for Announce {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} failed; replay it with SIM_SEED={} SIM_TRACE=1", self.0, self.0);
        }
    }
}

fn run(seed: u64) -> Tally {
    let _announce = Announce(seed);
    World::new(seed).run()
}

/// All seeds below this one, on all processors.
fn run_all(seeds: u64) -> Tally {
    let next = AtomicU64::new(0);
    let draw = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds);
    let work = || std::iter::from_fn(draw).map(run).sum::<Tally>();
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined =
            |thread: thread::ScopedJoinHandle<_>| thread.join().unwrap_or_else(|why| resume_unwind(why));
        threads.into_iter().map(joined).sum()
    })
}

#[test]
fn every_seed_ends_well() {
    if let Some(seed) = number("SIM_SEED") {
        run(seed);
        return;
    }
    let seeds = number("SIM_SEEDS").unwrap_or(1_000);
    println!("{seeds} seeds: {}", run_all(seeds));
}

#[test]
fn a_seed_replays_to_the_same_end() {
    for seed in [1, 11] {
        assert_eq!(run(seed), run(seed));
    }
}
