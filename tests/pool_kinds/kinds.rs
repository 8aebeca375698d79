//! The kinds of pool, as data: how one is set up, and in what it differs by design. No test asks which kind it has.

use taskyard::testing::{BEGINNING, Shared, TestYard};
use taskyard::{Builder, Pool, StoreChoice, Yard};
use tokio::runtime::Handle;

use crate::common::gate::Scratch;
use crate::common::handlers::attempts;
use crate::handlers::registry;
use crate::host_threads::HostThreads;

/// A kind of pool, and the board of its yards.
pub(crate) struct Kind {
    pool: fn() -> Pool,
    /// The folder of the board; `None`: it is in memory.
    disk: Option<Scratch>,
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
        disk: None,
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
        disk: None,
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
        disk: None,
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
        disk: None,
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
    /// The same, whose yards have a board in memory.
    pub(crate) fn in_memory(self) -> Self {
        Self { disk: None, ..self }
    }

    /// The same, whose yards have a board on disk.
    pub(crate) fn on_disk(self) -> Self {
        Self { disk: Some(Scratch::new()), ..self }
    }

    pub(crate) fn store(&self) -> StoreChoice {
        let on_disk = |disk: &Scratch| StoreChoice::sqlite(disk.path().join("tasks.db"));
        self.disk.as_ref().map_or_else(StoreChoice::memory, on_disk)
    }

    /// A board that outlives its yards.
    pub(crate) fn lasting_store(&self) -> StoreChoice {
        let store = self.store();
        if store.is_durable() { store } else { StoreChoice::shared(&Shared::default()) }
    }

    /// A pool of this kind that takes all tasks, and tries each three times if it does not say otherwise.
    pub(crate) fn pool(&self) -> Pool {
        (self.pool)().pattern("test.#").retry(attempts(3))
    }

    /// The same, which runs one task at a time and holds no other ready.
    pub(crate) fn single(&self) -> Pool {
        self.pool().workers(1..=1).concurrency(1).ahead(0)
    }

    /// Sets up a yard with this pool.
    pub(crate) fn builder(&self, pool: Pool) -> Builder {
        // The registry after the pool: the order does not matter.
        Yard::builder().store(self.store()).pool(pool).registry(registry()).observed()
    }

    /// A yard with this pool.
    pub(crate) fn start(&self, pool: Pool) -> Yard {
        self.builder(pool).start().expect("starts")
    }

    /// A yard with such a pool.
    pub(crate) fn yard(&self) -> Yard {
        self.start(self.pool())
    }

    /// A yard that runs one task at a time.
    pub(crate) fn one_slot(&self) -> Yard {
        self.start(self.single())
    }

    /// A yard whose time stands still until the test turns the clock.
    pub(crate) fn on_a_clock(&self) -> TestYard {
        TestYard::start(self.builder(self.pool()), BEGINNING).expect("starts")
    }

    /// The same, which runs one task at a time.
    pub(crate) fn one_slot_on_a_clock(&self) -> TestYard {
        TestYard::start(self.builder(self.single()), BEGINNING).expect("starts")
    }
}
