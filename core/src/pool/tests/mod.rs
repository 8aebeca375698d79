//! Scripts of a Pool: at a time, tell it something, and see what it says.

mod ahead;
mod cancels;
mod deaths;
mod drain;
mod names;
mod retirement;
mod scale;
mod soak;
mod starts;
mod suspects;
mod threads;
mod timeouts;
mod windows;

use std::sync::Arc;
use std::time::Duration;

use super::{Effect, Event, Pool, Settings};
use crate::dispatch::{Cancel, Dispatch, Order, Reason, TaskError};
use crate::id::{PoolId, TaskId};
use crate::live::Live;
use crate::machine::Machine;
use crate::names::{Lane, TaskName};
use crate::status::State;
use crate::task::{Body, Due, DueAt, Key, KeyLimits, Priority, Task};
use crate::time::{Instant64, Now, Timestamp};
use crate::window::Window;
use crate::worker::{Command, Report, WorkerEnd};

const ID: PoolId = PoolId(0);

/// A pool whose workers know `t`, with short times: grace 5 s, `kill_after` 2 s, `idle_for` 30 s, `drain_grace` 10 s.
fn settings(min: u32, max: u32) -> Settings {
    Settings { min, max, names: Some(vec![name("t")]), ..Settings::default() }
}

fn name(text: &str) -> TaskName {
    text.parse().unwrap()
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// How a test says what a task is like.
struct Like {
    id: u128,
    name: &'static str,
    timeout: Option<Duration>,
    key: Option<Key>,
    epoch: u32,
    suspect: bool,
}

fn task(id: u128) -> Like {
    Like { id, name: "t", timeout: None, key: None, epoch: 1, suspect: false }
}

impl Like {
    fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn timeout(self, ms: u64) -> Self {
        Self { timeout: Some(Duration::from_millis(ms)), ..self }
    }

    fn key(self, key: u128) -> Self {
        Self { key: Some(Key(key)), ..self }
    }

    fn epoch(self, epoch: u32) -> Self {
        Self { epoch, ..self }
    }

    fn suspect(self) -> Self {
        Self { suspect: true, ..self }
    }

    fn live(&self) -> Arc<Live> {
        let name = name(self.name);
        let task = Task {
            id: TaskId(self.id),
            lane: Arc::new(Lane { namespace: "ns".parse().unwrap(), name }),
            body: Body::new("{}".into(), 0..0, 0..0).unwrap(),
            due: Due::Now,
            expires: None,
            timeout: self.timeout,
            key: self.key,
            limits: KeyLimits::PARALLEL,
            priority: Priority::default(),
            retry: None,
            extras: None,
        };
        let live = Live::new(Arc::new(task), 0, Timestamp(0), self.epoch, 1);
        live.hand_to(Some(ID));
        Arc::new(if self.suspect { live.suspected() } else { live })
    }
}

/// A pool, the time, and what it said.
struct Script {
    pool: Pool,
    micros: i64,
    lines: Vec<String>,
    window: Option<Window>,
    capacity: Option<usize>,
    /// What came back from it, as the Queuer would have it again.
    returned: Vec<Dispatch>,
}

impl Script {
    /// A pool that was started at 0; what it said then is still to be seen.
    fn new(settings: Settings) -> Self {
        let pool = Pool::new(ID, settings);
        let mut script =
            Self { pool, micros: 0, lines: vec![], window: None, capacity: None, returned: vec![] };
        let mut effects = vec![];
        script.pool.start(script.now(), &mut effects);
        script.take_down(effects);
        script
    }

    /// A pool of which `workers` (numbered from 1) are ready; what was said so far is forgotten.
    fn with_ready(settings: Settings, workers: u32) -> Self {
        let concurrency = settings.concurrency;
        let mut script = Self::new(settings);
        (1..=workers).for_each(|worker| script.ready(worker, concurrency, 0));
        script.forget();
        script
    }

    fn now(&self) -> Now {
        Now { mono: Instant64(self.micros), wall: Timestamp(self.micros) }
    }

    /// Lets time pass, waking the pool whenever it wants to be.
    fn at(&mut self, ms: i64) -> &mut Self {
        self.at_micros(ms * 1_000)
    }

    fn at_micros(&mut self, micros: i64) -> &mut Self {
        while let Some(wake) = self.pool.next_wakeup().mono.filter(|at| at.0 <= micros) {
            self.micros = self.micros.max(wake.0);
            let mut effects = vec![];
            self.pool.wake(self.now(), &mut effects);
            self.take_down(effects);
            assert_ne!(self.pool.next_wakeup().mono, Some(wake), "it wakes again and again");
        }
        self.micros = micros;
        self
    }

    /// Lets time pass without waking the pool; then it is woken, once.
    fn sleep(&mut self, until_ms: i64) -> &mut Self {
        self.micros = until_ms * 1_000;
        let mut effects = vec![];
        self.pool.wake(self.now(), &mut effects);
        self.take_down(effects);
        self
    }

    /// Tells several things in one turn.
    fn turn(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        let mut effects = vec![];
        for event in events {
            self.pool.handle(self.now(), event, &mut effects);
        }
        self.pool.end_turn(self.now(), &mut effects);
        self.take_down(effects);
        self
    }

    fn tell(&mut self, event: Event) -> &mut Self {
        self.turn([event])
    }

    fn dispatch(&mut self, like: &Like) -> Arc<Live> {
        let shared = like.live();
        self.tell(dispatched(&shared));
        shared
    }

    fn report(&mut self, worker: u32, report: Report) -> &mut Self {
        self.tell(Event::Worker { worker, report })
    }

    fn ready(&mut self, worker: u32, concurrency: u32, ahead: u32) {
        self.report(worker, Report::Ready { concurrency, ahead, names: vec![name("t")] });
    }

    fn started(&mut self, worker: u32, id: u128) -> &mut Self {
        self.report(worker, Report::Started { id: TaskId(id) })
    }

    fn done(&mut self, worker: u32, id: u128) -> &mut Self {
        self.report(worker, Report::Done { id: TaskId(id), end: WorkerEnd::Succeeded("1".into()) })
    }

    fn gave_in(&mut self, worker: u32, id: u128) -> &mut Self {
        self.report(worker, Report::Done { id: TaskId(id), end: WorkerEnd::Cancelled })
    }

    fn exited(&mut self, worker: u32, status: &str) -> &mut Self {
        self.report(worker, Report::Exited { status: status.into(), output: "last words".into() })
    }

    fn cancel(&mut self, live: &Arc<Live>, reason: Reason) -> &mut Self {
        self.tell(Event::Cancel(Cancel { live: live.clone(), reason }))
    }

    /// A dispatch runs on the worker that comes next.
    fn run(&mut self, worker: u32, like: &Like) -> Arc<Live> {
        let shared = self.dispatch(like);
        self.started(worker, like.id);
        shared
    }

    /// Asserts what was said since the last look, window and capacity aside.
    #[track_caller]
    fn expect<'a>(&mut self, lines: impl AsRef<[&'a str]>) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.lines), lines.as_ref());
        self
    }

    /// Asserts the last window, as what it takes beyond what it received, and the headroom.
    #[track_caller]
    fn takes(&mut self, free: u64, headroom: usize) -> &mut Self {
        let up_to = self.pool.counters().received + free;
        assert_eq!(self.window, Some(Window { pool: ID, up_to, headroom }));
        self
    }

    #[track_caller]
    fn capacity(&mut self, slots: usize) -> &mut Self {
        assert_eq!(self.capacity, Some(slots));
        self
    }

    fn forget(&mut self) -> &mut Self {
        self.lines.clear();
        self
    }

    fn states(&self) -> Vec<State> {
        self.pool.workers().map(|worker| worker.state).collect()
    }

    fn take_down(&mut self, effects: Vec<Effect>) {
        self.pool.check_invariants();
        for effect in effects {
            match effect {
                Effect::Window(window) => self.window = Some(window),
                Effect::Capacity { slots, .. } => self.capacity = Some(slots),
                Effect::Returned(dispatch) => {
                    assert_eq!(dispatch.live.pool(), None);
                    self.lines.push(format!("returned {}", dispatch.id().0));
                    self.returned.push(*dispatch);
                }
                other => self.lines.push(line(&other)),
            }
        }
    }
}

fn dispatched(live: &Arc<Live>) -> Event {
    let (order, due) = (Order::default(), DueAt::Now);
    Event::Dispatch(Box::new(Dispatch { live: live.clone(), order, due, judged: false }))
}

fn failed(kind: &str) -> WorkerEnd {
    WorkerEnd::Failed(Box::new(TaskError {
        kind: kind.into(),
        message: "no".into(),
        trace: None,
        retry: true,
    }))
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::Started { name, .. } => format!("started {}", name.id.0),
        Effect::Ended(ended) => format!("ended {} {:?}", ended.dispatch.id().0, ended.end),
        Effect::Told(cancel) => format!("told {}", cancel.id().0),
        Effect::Missed(cancel) => format!("missed {}", cancel.id().0),
        Effect::Learned { names, .. } => format!("learned {names:?}"),
        Effect::MayStart { name, .. } => format!("may {} start", name.id.0),
        Effect::Known { names, .. } => format!("known {names:?}"),
        Effect::Drained(_) => "drained".into(),
        Effect::Status(..) => "status".into(),
        Effect::Worker { worker, command } => format!("{} {}", worker.number, order(command)),
        Effect::Window(_) | Effect::Capacity { .. } | Effect::Returned(_) => {
            unreachable!("taken down elsewhere")
        }
    }
}

fn order(command: &Command) -> String {
    match command {
        Command::Launch => "launch".into(),
        Command::Run { live, .. } => format!("run {}", live.task.id.0),
        Command::Cancel { id, reason } => format!("cancel {} {reason:?}", id.0),
        Command::Recall { id } => format!("recall {}", id.0),
        Command::Stop => "stop".into(),
        Command::Signal(signal) => format!("{signal:?}"),
    }
}

const SUCCEEDED: &str = r#"Succeeded("1")"#;
const TIMED_OUT: &str = "Failed(TimedOut)";
const DRAINED: &str = "Returned(Drain)";
const SETBACK: &str = "Returned(Setback)";

fn ended(id: u128, end: &str) -> String {
    format!("ended {id} {end}")
}

fn lost(id: u128, status: &str) -> String {
    format!("ended {id} Failed(Lost(Loss {{ status: {status:?}, output: \"last words\" }}))")
}
