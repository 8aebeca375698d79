//! A store that fails when a test says so, or by chance: to try that nothing is lost by it. Between the faults it is the
//! store that it wraps.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard_core::Now;
use taskyard_core::store::{Ask, Reply, Status, StoreError};
use tokio::sync::Notify;

use crate::store::Store;

/// A store with faults.
pub struct Faulty<S> {
    store: S,
    faults: Faults,
}

impl<S: Store> Faulty<S> {
    /// The store, with these faults.
    pub fn new(store: S, faults: &Faults) -> Self {
        Self { store, faults: faults.clone() }
    }
}

/// Which calls go wrong. Clones rule the same ones, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Ruler>);

#[derive(Debug, Default)]
struct Ruler {
    rules: Mutex<Rules>,
    changed: Condvar,
    /// A call waits now.
    waits: Notify,
}

#[derive(Debug, Default)]
struct Rules {
    /// Drawn from; the rest is drawn by it.
    seed: u64,
    /// Of so many calls one goes wrong; 0: none does.
    one_in: u64,
    broken: Option<StoreError>,
    held: bool,
    /// Whether a call waits because of that.
    waiting: bool,
    panics: bool,
}

/// What becomes of a call.
enum Fate {
    Well,
    /// Nothing is done.
    Fails(StoreError),
    /// All is done, and nobody learns of it.
    LosesReply,
}

impl Faults {
    /// Of `one_in` calls one goes wrong, as the seed decides: it fails, or its request or its reply is lost.
    pub fn seeded(seed: u64, one_in: u64) -> Self {
        let faults = Self::default();
        faults.change(|rules| (rules.seed, rules.one_in) = (seed, one_in));
        faults
    }

    /// Every call fails with this error, until [`mend`](Self::mend).
    pub fn break_down(&self, error: StoreError) {
        self.change(|rules| rules.broken = Some(error));
    }

    /// From now on nothing goes wrong any more, and who was held goes on.
    pub fn mend(&self) {
        self.change(|rules| *rules = Rules { seed: rules.seed, waiting: rules.waiting, ..Rules::default() });
    }

    /// Calls wait, those under way excepted, until [`let_go`](Self::let_go).
    pub fn hold(&self) {
        self.change(|rules| rules.held = true);
    }

    /// Those that wait go on.
    pub fn let_go(&self) {
        self.change(|rules| rules.held = false);
    }

    /// The next call panics.
    pub fn panic(&self) {
        self.change(|rules| rules.panics = true);
    }

    /// Waits until a call is held.
    pub async fn holds_one(&self) {
        loop {
            let waits = self.0.waits.notified();
            if self.lock().waiting {
                return;
            }
            waits.await;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.lock());
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while calls are held, then says what becomes of this one.
    fn decide(&self) -> Fate {
        let mut rules = self.lock();
        rules.waiting = rules.held;
        self.0.waits.notify_waiters();
        let held = self.0.changed.wait_while(rules, |rules| rules.held);
        let mut rules = held.unwrap_or_else(PoisonError::into_inner);
        rules.waiting = false;
        assert!(!rules.panics, "made to panic");
        rules.fate()
    }
}

impl Rules {
    fn fate(&mut self) -> Fate {
        if let Some(error) = &self.broken {
            return Fate::Fails(error.clone());
        }
        if self.one_in == 0 || !self.draw().is_multiple_of(self.one_in) {
            return Fate::Well;
        }
        match self.draw() % 3 {
            0 => Fate::Fails(StoreError::Unavailable("made to fail".into())),
            1 => Fate::Fails(StoreError::Unknown("the request was made to be lost".into())),
            _ => Fate::LosesReply,
        }
    }

    /// `SplitMix64`.
    fn draw(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl<S: Store> Store for Faulty<S> {
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        let error = match self.faults.decide() {
            Fate::Well => return self.store.answer(now, asks),
            Fate::Fails(error) => error,
            Fate::LosesReply => {
                drop(self.store.answer(now, asks));
                StoreError::Unknown("the reply was made to be lost".into())
            }
        };
        asks.iter().map(|ask| failed(ask, &error)).collect()
    }

    fn look(&mut self, now: Now) -> Option<Status> {
        self.store.look(now)
    }

    fn limit(&mut self, span: Option<Duration>) {
        self.store.limit(span);
    }
}

fn failed(ask: &Ask, error: &StoreError) -> Reply {
    Reply { to: ask.from, no: ask.no, answer: Err(error.clone()), status: Status::default() }
}
