//! The thread that answers for a worker while a handler blocks it: takes in cancels and recalls, and sends what was written
//! down. While nothing runs it sleeps, so that a frame passes one thread only.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::pulse::Pulse;
use super::serve::leave;
use super::station::Station;
use super::wire::Found;

/// Who makes no step for so long is stuck; and what was written down waits no longer than about this.
const TICK: Duration = Duration::from_millis(1);
/// How often a stand-in looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(5);
/// How many ticks without work before it sleeps for good: waking it costs more than a few ticks.
const LINGER: u32 = 50;

/// Stands in for ever.
pub(super) fn run(station: &Arc<Station>, pulse: &Pulse) -> ! {
    pulse.introduce(std::thread::current());
    let mut idle = 0;
    loop {
        let seen = pulse.now();
        if idle > LINGER {
            pulse.sleep_until_wake();
            idle = 0;
        }
        std::thread::sleep(TICK);
        if !Pulse::is_awake(seen) {
            idle += 1;
            continue;
        }
        idle = 0;
        if let Err(error) = tick(station, pulse, seen) {
            leave(&error);
        }
    }
}

/// The other thread has been awake for a tick.
fn tick(station: &Station, pulse: &Pulse, seen: u64) -> io::Result<()> {
    station.wire.flush()?;
    while pulse.now() == seen {
        if station.wire.wait(LOOK) && pulse.now() == seen {
            take_in(station)?;
        }
        station.wire.flush()?;
    }
    Ok(())
}

fn take_in(station: &Station) -> io::Result<()> {
    match station.read() {
        Ok(Found::End) => std::process::exit(0),
        Ok(Found::All | Found::Some) => station.taken_in.notify_one(),
        // The other thread was faster.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
