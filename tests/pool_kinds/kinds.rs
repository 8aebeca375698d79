//! The kinds of pool, as data: how one is set up, and in what it differs by design. No test asks which kind it has.

use taskyard::testing::{BEGINNING, TestYard};
use taskyard::{Builder, Pool, Yard};
use tokio::runtime::Handle;

use crate::common::handlers::attempts;
use crate::handlers::registry;
use crate::host_threads::HostThreads;

/// A kind of pool.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pool: fn() -> Pool,
    pub(crate) deaf: Deaf,
}

/// What becomes of a task that hears nothing and blocks: the one thing in which the kinds differ.
#[derive(Clone, Copy)]
pub(crate) struct Deaf {
    /// Whether a cancel ends it.
    pub(crate) can_be_cancelled: bool,
    /// Whether its code runs no more once its end is told; else it may overlap its retry.
    pub(crate) is_over_at_its_end: bool,
    /// Why.
    pub(crate) because: &'static str,
}

pub(crate) fn process() -> Kind {
    Kind {
        pool: || Pool::process("all").workers(1..=2).worker_args(["--exact", "worker_entry", "--nocapture"]),
        deaf: Deaf {
            can_be_cancelled: true,
            is_over_at_its_end: true,
            because: "a process is killed, and its end waited for",
        },
    }
}

pub(crate) fn blocking() -> Kind {
    Kind {
        pool: || Pool::blocking("all").workers(1..=2),
        deaf: Deaf {
            can_be_cancelled: false,
            is_over_at_its_end: false,
            because: "a thread can't be killed: at the deadline it counts as stuck and is replaced",
        },
    }
}

pub(crate) fn inline() -> Kind {
    Kind {
        pool: || Pool::inline("all"),
        deaf: Deaf {
            can_be_cancelled: true,
            is_over_at_its_end: false,
            because: "what awaits is dropped; a thread whose handler blocks it is left behind in SIGKILL's place",
        },
    }
}

pub(crate) fn custom() -> Kind {
    Kind {
        pool: || {
            let here = Handle::current();
            let launcher = |calls| Box::new(HostThreads::within(here, registry(), calls)) as _;
            Pool::custom("all", launcher).workers(1..=2)
        },
        deaf: Deaf {
            can_be_cancelled: true,
            is_over_at_its_end: false,
            because: "its launcher leaves a thread behind in SIGKILL's place",
        },
    }
}

impl Kind {
    /// A pool of this kind that takes all tasks, and tries each three times if it does not say otherwise.
    pub(crate) fn pool(self) -> Pool {
        (self.pool)().pattern("test.#").retry(attempts(3))
    }

    /// The same, which runs one task at a time and holds no other ready.
    pub(crate) fn single(self) -> Pool {
        self.pool().workers(1..=1).concurrency(1).ahead(0)
    }

    /// A yard with such a pool.
    pub(crate) fn yard(self) -> Yard {
        start(self.pool())
    }

    /// A yard that runs one task at a time.
    pub(crate) fn one_slot(self) -> Yard {
        start(self.single())
    }

    /// A yard whose time stands still until the test turns the clock.
    pub(crate) fn on_a_clock(self) -> TestYard {
        TestYard::start(builder(self.pool()), BEGINNING).expect("starts")
    }

    /// The same, which runs one task at a time.
    pub(crate) fn one_slot_on_a_clock(self) -> TestYard {
        TestYard::start(builder(self.single()), BEGINNING).expect("starts")
    }
}

/// Sets up a yard with this pool.
pub(crate) fn builder(pool: Pool) -> Builder {
    // The registry after the pool: the order does not matter.
    Yard::builder().pool(pool).registry(registry()).observed()
}

/// A yard with this pool.
pub(crate) fn start(pool: Pool) -> Yard {
    builder(pool).start().expect("starts")
}
