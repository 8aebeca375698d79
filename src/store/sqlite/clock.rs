//! The clock of the leases: it goes on while the machine sleeps, no step of the wall clock moves it, and all processes of
//! the machine read the same.

use std::io;

use rustix::time::{ClockId, clock_gettime};

/// Reads the time since boot, and says which boot that is.
pub trait BootClock: Send {
    /// Which boot: under another one every lease has ended.
    fn boot(&self) -> &str;
    /// Microseconds since it.
    fn micros(&self) -> i64;
}

/// The kernel's.
#[derive(Debug)]
pub struct KernelClock {
    boot: String,
}

impl KernelClock {
    /// Asks the kernel which boot this is.
    pub fn new() -> io::Result<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Self { boot: boot.trim().to_owned() })
    }
}

impl BootClock for KernelClock {
    fn boot(&self) -> &str {
        &self.boot
    }

    fn micros(&self) -> i64 {
        let time = clock_gettime(ClockId::Boottime);
        time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readers_see_the_same_boot_and_a_time_that_goes_on() {
        let (a, b) = (KernelClock::new().unwrap(), KernelClock::new().unwrap());
        assert_eq!(a.boot(), b.boot());
        assert_eq!(a.boot().len(), 36, "a UUID without white space");
        assert!(0 < a.micros() && a.micros() <= b.micros());
    }
}
