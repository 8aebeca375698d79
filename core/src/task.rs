//! A task as it was submitted: checked, immutable, shared by everything that handles it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::id::TaskId;
use crate::names::{Lane, Namespace, TaskName};
use crate::time::{Instant64, Timestamp};

/// A submitted task. Board, ledger and dispatches share one copy.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its id for life.
    pub id: TaskId,
    /// Namespace and name; shared with other tasks of the lane where they come from one place.
    pub lane: Arc<Lane>,
    /// The task's own JSON.
    pub body: Body,
    /// When it should start, as the producer said it.
    pub due: Due,
    /// When it is no longer worth starting, as the producer said it.
    pub expires: Option<Due>,
    /// How long one run may take; `None`: as the pool says.
    pub timeout: Option<Duration>,
    /// What makes it the same as another task; `None`: nothing does.
    pub key: Option<Key>,
    /// What happens when others with its key are in progress.
    pub limits: KeyLimits,
    /// 0 to 9, 9 first.
    pub priority: Priority,
    /// How often and how fast it is tried again; `None`: as the pool says.
    pub retry: Option<Box<Retry>>,
    /// What few tasks have.
    pub extras: Option<Box<Extras>>,
}

impl Task {
    /// The handler's name.
    pub fn name(&self) -> &TaskName {
        &self.lane.name
    }
}

/// What few tasks have, kept aside so that the others stay small.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// Posted after SUCCEEDED, in the settling write; their ids are derived anew for each parent and epoch.
    pub callbacks: Vec<Task>,
    /// Posted after TRASHED.
    pub errbacks: Vec<Task>,
    /// The W3C trace context of the submitter.
    pub traceparent: Option<String>,
    /// Where the submitter wants the reply, for the producer that took the task in.
    pub reply_to: Option<String>,
    /// Whether a foreign handler is given its own context as first argument (dispatcherd's `bind`).
    pub bind: bool,
}

/// A task's own JSON, byte for byte as it came, with the places of its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    text: Box<str>,
    args: Range<u32>,
    kwargs: Range<u32>,
}

impl Body {
    /// A body whose `args` and `kwargs` stand at these byte ranges of `text`; an empty range: not given.
    /// `None` if a range does not lie in the text.
    pub fn new(text: Box<str>, args: Range<usize>, kwargs: Range<usize>) -> Option<Self> {
        let fit = |range: &Range<usize>| text.get(range.clone()).is_some();
        if !fit(&args) || !fit(&kwargs) || u32::try_from(text.len()).is_err() {
            return None;
        }
        let narrow = |range: Range<usize>| range.start as u32..range.end as u32;
        Some(Self { args: narrow(args), kwargs: narrow(kwargs), text })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The positional arguments, a JSON array.
    pub fn args(&self) -> &str {
        self.part(&self.args, "[]")
    }

    /// The named arguments, a JSON object.
    pub fn kwargs(&self) -> &str {
        self.part(&self.kwargs, "{}")
    }

    fn part<'a>(&'a self, range: &Range<u32>, missing: &'static str) -> &'a str {
        match self.text.get(range.start as usize..range.end as usize) {
            None | Some("") => missing,
            Some(part) => part,
        }
    }
}

/// Arguments may hold secrets: only the length is shown.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({} bytes)", self.text.len())
    }
}

/// When something is due, as a producer says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Due {
    /// At once.
    #[default]
    Now,
    /// So long after admission.
    In(Duration),
    /// At this time of the wall clock.
    At(Timestamp),
}

/// When a dispatch is due, once admission has read the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DueAt {
    /// At once.
    #[default]
    Now,
    /// A relative delay within the horizon: the monotonic clock, not shortened by a step of the wall clock.
    Mono(Instant64),
    /// An absolute time, as the wall clock here was read.
    Wall(Timestamp),
    /// A time that somebody named to give a task another: the same on every clock. No dispatch goes out with it.
    Said(Timestamp),
}

/// What makes two tasks "the same": a stable 128-bit hash. Aligned like a word: most tasks have none, and all have its
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(Rust, packed(8))]
pub struct Key(pub u128);

/// How many tasks of one key may run and wait, and who goes when there are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimits {
    /// How many may be in progress; [`KeyLimits::UNLIMITED`] for no bound.
    pub running: u32,
    /// How many may wait for that; [`KeyLimits::UNLIMITED`] for no bound, else at most [`KeyLimits::MAX_WAITING`].
    pub waiting: u32,
    /// Who is dropped when one more comes.
    pub overflow: Overflow,
}

impl KeyLimits {
    /// No bound.
    pub const UNLIMITED: u32 = u32::MAX;
    /// The largest bound on waiting tasks of one key.
    pub const MAX_WAITING: u32 = 1_000;
    /// Any number at once.
    pub const PARALLEL: Self = Self::new(Self::UNLIMITED, Self::UNLIMITED, Overflow::DropNew);
    /// One at a time, the others wait.
    pub const SERIAL: Self = Self::new(1, Self::UNLIMITED, Overflow::DropNew);
    /// One at a time, the others are dropped.
    pub const DISCARD: Self = Self::new(1, 0, Overflow::DropNew);
    /// One at a time and one waiting, the others are dropped.
    pub const QUEUE_ONE: Self = Self::new(1, 1, Overflow::DropNew);
    /// One at a time and one waiting: the newest.
    pub const REPLACE: Self = Self::new(1, 1, Overflow::DropWaiting);

    /// Limits of one's own. `running` is at least 1; `waiting` unlimited or at most [`KeyLimits::MAX_WAITING`].
    pub const fn new(running: u32, waiting: u32, overflow: Overflow) -> Self {
        Self { running, waiting, overflow }
    }

    /// Whether the number of waiting tasks is bounded, so that each arrival must be judged.
    pub fn bounds_waiting(self) -> bool {
        self.waiting != Self::UNLIMITED
    }
}

/// Who is dropped when more tasks of one key wait than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The one that arrives.
    DropNew,
    /// The waiting one of lowest sequence that never ran: the newest stays.
    DropWaiting,
}

/// 0 to 9, 9 first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    /// The highest.
    pub const MAX: u8 = 9;

    /// A priority; `None` above 9.
    pub fn new(priority: u8) -> Option<Self> {
        (priority <= Self::MAX).then_some(Self(priority))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

/// How often and how fast a failed task is tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// How many counted attempts in all; at least 1.
    pub max_attempts: u32,
    /// The pause after the first failure.
    pub initial: Duration,
    /// By what each further pause grows; at least 1.
    pub factor: f64,
    /// The longest pause, before it is spread.
    pub max: Duration,
    /// By what part of itself a pause is spread, 0 to 1.
    pub jitter: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial: Duration::from_secs(1),
            factor: 2.0,
            max: Duration::from_mins(10),
            jitter: 0.2,
        }
    }
}

/// What a task is given that does not say it itself; set where its handler is registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskDefaults {
    /// Where it is routed; `None`: by its name.
    pub namespace: Option<Namespace>,
    /// How long one run may take; `None`: as the pool says.
    pub timeout: Option<Duration>,
    /// How often it is tried again; `None`: as the pool says.
    pub retry: Option<Retry>,
    /// How many twins may run and wait; `None`: any number at once.
    pub limits: Option<KeyLimits>,
    /// `None`: 5.
    pub priority: Option<Priority>,
}
