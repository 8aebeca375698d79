//! The thread that answers for a worker while a handler blocks it: takes in cancels and recalls, and sends what was written
//! down. While handlers do not block it sleeps, so that a frame passes one thread only.

use std::sync::Arc;
use std::time::Duration;

use super::pulse::Pulse;
use super::serve::leave;
use super::station::Station;

/// Who makes no step for so long is stuck.
const STUCK: Duration = Duration::from_millis(1);
/// How often a stand-in looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(5);
/// How many looks without work before it sleeps for good: waking it costs more than a few looks.
const LINGER: u32 = 50;

/// Stands in for ever.
pub(super) fn run(station: &Arc<Station>, pulse: &Pulse) {
    pulse.introduce(std::thread::current());
    let mut idle = 0;
    loop {
        let seen = pulse.now();
        if !Pulse::is_awake(seen) {
            idle += 1;
            if idle > LINGER {
                pulse.sleep_until_wake();
                idle = 0;
                continue;
            }
        }
        std::thread::sleep(STUCK);
        if Pulse::is_awake(seen) && pulse.now() == seen {
            idle = 0;
            stand_in(station, pulse, seen);
        }
    }
}

fn stand_in(station: &Station, pulse: &Pulse, seen: u64) {
    while pulse.now() == seen {
        if let Err(error) = station.wire.flush() {
            leave(&error);
        }
        if !station.wire.wait(LOOK) || pulse.now() != seen {
            continue;
        }
        match station.read() {
            Ok(true) => station.taken_in.notify_one(),
            Ok(false) => std::process::exit(0),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => leave(&error),
        }
    }
}
