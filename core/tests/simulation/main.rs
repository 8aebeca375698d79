//! The whole yard in one thread on a virtual clock, on the shipped wiring (ARCHITECTURE.md, "Simulation").
//!
//! A seed draws the tasks, the order in which mail arrives (first in, first out per pair; free across pairs) and the
//! faults. Checkers look after every step. `SIM_SEED=7` replays one seed, with `SIM_TRACE=1` mail by mail;
//! `SIM_SEEDS=100000` runs more than the usual thousand.

mod board;
mod checks;
mod rng;
mod tasks;
mod workers;
mod world;

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

fn run(seed: u64) -> u64 {
    let _announce = Announce(seed);
    World::new(seed).run()
}

#[test]
fn every_seed_ends_well() {
    if let Some(seed) = number("SIM_SEED") {
        run(seed);
        return;
    }
    let seeds = number("SIM_SEEDS").unwrap_or(1_000);
    let steps: u64 = (0..seeds).map(run).sum();
    println!("{seeds} seeds, {steps} steps");
}

#[test]
fn a_seed_replays_to_the_same_number_of_steps() {
    assert_eq!(run(11), run(11));
}
