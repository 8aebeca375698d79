//! For tests of applications: a whole yard in memory, on a clock that the test turns, which says when it is quiet. Real
//! handlers run in it, or toys whose tasks a test ends by hand.
//!
#![doc = include_str!("../../docs/testing.md")]

mod stage;
mod stores;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use taskyard_actors::clock::Clock as _;
use taskyard_actors::in_flight::InFlight;
pub use taskyard_actors::testing::{Faults, Faulty, Probe, Shared, Toys, VirtualClock};
use taskyard_core::TaskId;
use taskyard_core::conductor::Happened;
use taskyard_core::live::{Live, Progress};
use taskyard_core::store::Filter;
use taskyard_core::task::Task;
use taskyard_core::time::Timestamp;
use taskyard_core::worker::WorkerEnd;
use tokio::sync::broadcast;
use tokio::task::LocalSet;

use crate::builder::Builder;
use crate::calls::YardCalls;
use crate::context::{CallError, Calls as _, Context, Host, Pass};
use crate::draft::Draft;
use crate::errors::StartError;
use crate::handler::TaskHandler;
use crate::payload;
use crate::payload::Payload;
use crate::pool::Pool;
use crate::registry::Registry;
use crate::task_handle::TaskHandle;
use crate::yard::Yard;
use stage::{Breakers, Stage};

/// When a [`TestYard`] begins: 2027-01-01T00:00:00Z.
pub const BEGINNING: Timestamp = Timestamp(1_798_761_600_000_000);
/// How many tasks a [`TestYard::new`] runs at once.
const WORKERS: u32 = 16;
/// In what steps time passes while a yard drains.
const STEP: Duration = Duration::from_secs(1);

/// A yard whose time stands still between [`advance`](Self::advance) calls.
pub struct TestYard {
    yard: Yard,
    clock: VirtualClock,
    in_flight: InFlight,
    registry: Registry,
    breakers: Breakers,
    history: Mutex<History>,
}

/// The tasks that have ended.
struct History {
    news: broadcast::Receiver<Happened>,
    ended: Vec<Arc<Task>>,
}

impl TestYard {
    /// A yard in memory with these handlers, and one pool that takes every task. It begins at [`BEGINNING`].
    ///
    /// # Panics
    /// If there is no handler, or the system gives no thread.
    pub fn new(registry: Registry) -> Self {
        let (breakers, in_flight) = (Breakers::default(), InFlight::default());
        let (handlers, crash, count) = (registry.clone(), breakers.clone(), in_flight.clone());
        let launcher = move |calls| Box::new(Stage::new(handlers, calls, count, crash)) as Box<_>;
        let pool = Pool::custom("test", launcher).pattern("#").workers(0..=WORKERS);
        let builder = Yard::builder().registry(registry).pool(pool);
        Self::start_on(builder, BEGINNING, in_flight, breakers).expect("a test yard starts")
    }

    /// Starts the yard that was set up, at this time of the wall clock.
    pub fn start(builder: Builder, wall: Timestamp) -> Result<Self, StartError> {
        Self::start_on(builder, wall, InFlight::default(), Breakers::default())
    }

    fn start_on(
        builder: Builder,
        wall: Timestamp,
        in_flight: InFlight,
        breakers: Breakers,
    ) -> Result<Self, StartError> {
        let clock = VirtualClock::at(wall);
        let yard = builder.observed().clock(Arc::new(clock.clone()), in_flight.clone()).start()?;
        let registry = yard.registry().clone();
        let history = Mutex::new(History { news: yard.observe(), ended: Vec::new() });
        Ok(Self { yard, clock, in_flight, registry, breakers, history })
    }

    /// The handle, as the application under test has it.
    pub fn yard(&self) -> &Yard {
        &self.yard
    }

    /// The time of the wall clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now().wall
    }

    /// Submits a task, and lets all happen that follows from it now.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn submit<P: Payload>(&self, task: impl Into<Draft<P>>) -> TaskHandle<P::Output> {
        let handle = self.yard.submit(task).await.expect("a test yard takes every task");
        self.quiet().await;
        handle
    }

    /// Lets time pass on both clocks, and all happen that follows from it.
    pub async fn advance(&self, span: Duration) {
        self.clock.advance(span);
        self.quiet().await;
    }

    /// Sets the wall clock alone, and lets all happen that follows from it.
    pub async fn step_wall(&self, to: Timestamp) {
        self.clock.step_wall(to);
        self.quiet().await;
    }

    /// Resolves once no mail is on its way and no handler can go on: nothing more happens until time passes, a worker
    /// reports or somebody asks. A handler that waits for something outside the yard is not waited for.
    pub async fn quiet(&self) {
        self.in_flight.quiet().await;
    }

    /// Drains the yard, with as much time as that takes; gives the tasks that were left on the board.
    ///
    /// # Panics
    /// If the yard is down.
    pub async fn drain(&self) -> Vec<TaskId> {
        let mut drained = pin!(self.yard.drain());
        let left = loop {
            tokio::select! {
                biased;
                left = &mut drained => break left,
                () = self.quiet() => {}
            }
            if let Some(left) = (&mut drained).now_or_never() {
                break left;
            }
            self.clock.advance(STEP);
        };
        self.yard.closed().await;
        left.expect("the yard is up")
    }

    /// Runs the handler once, right here and now, as a first attempt; gives its value or how it ended otherwise. The payload
    /// makes the way through JSON that it makes to a worker.
    pub async fn run_task<T: TaskHandler>(&self, payload: T) -> Result<T::Output, WorkerEnd> {
        let task = Draft::new(payload).build(&self.registry).expect("the payload makes a task");
        let cx = self.context(&task);
        let run = self.registry.run(T::NAME, task.body.args(), task.body.kwargs(), cx);
        let end = LocalSet::new().run_until(run).await;
        self.quiet().await;
        match end {
            WorkerEnd::Succeeded(value) => Ok(serde_json::from_str(&value).expect("an output reads back")),
            end => Err(end),
        }
    }

    fn context(&self, task: &Task) -> Context {
        let (namespace, timeout) = (task.lane.namespace.clone(), task.timeout);
        let pass = Pass { id: task.id, epoch: 1, attempt: 1, namespace, timeout, traceparent: None };
        let calls = YardCalls::default();
        calls.open(&self.yard);
        Context::new(pass, Arc::new(Alone(calls)))
    }

    /// The tasks that run now, in order of arrival.
    pub fn running(&self) -> Vec<Arc<Live>> {
        self.yard.running()
    }

    /// The worker crashes that runs the oldest of the running tasks, which is lost and given back.
    ///
    /// # Panics
    /// If no task runs, or the yard was not made by [`new`](Self::new).
    pub async fn crash_worker(&self) -> TaskId {
        let running = self.running();
        let live = running.first().expect("no task runs");
        let (worker, _) = live.running().expect("it runs");
        assert!(self.breakers.crash(worker), "its worker can't be made to crash");
        self.quiet().await;
        live.task.id
    }

    /// All tasks of a kind that were ever taken in: those that have ended, then the others.
    ///
    /// # Panics
    /// If the yard is down, or a payload is not of this kind.
    pub async fn submitted<T: TaskHandler>(&self) -> Vec<T> {
        self.quiet().await;
        let filter = Filter { task: Some(T::NAME.parse().expect("a name")), ..Filter::default() };
        let open = self.open(&filter).await;
        let mut tasks = self.ended();
        tasks.retain(|task| filter.picks(task));
        tasks.extend(open);
        tasks.iter().map(|task| read(task)).collect()
    }

    /// Asserts that a task of this kind was taken in of which `is` holds, by anybody: the test, the application or a
    /// handler. Gives the first one.
    ///
    /// # Panics
    /// If there is none; says which there are.
    pub async fn assert_submitted<T: TaskHandler>(&self, is: impl Fn(&T) -> bool) -> T {
        let mut submitted = self.submitted::<T>().await;
        let found = submitted.iter().position(is);
        match found {
            Some(found) => submitted.swap_remove(found),
            None => panic!("no such task {} was submitted; those that were: {}", T::NAME, shown(&submitted)),
        }
    }

    async fn open(&self, filter: &Filter) -> Vec<Arc<Task>> {
        let (mut open, mut next) = (Vec::new(), Some(0));
        while let Some(after) = next {
            let page = self.yard.list(filter.clone(), after, usize::MAX).await;
            let (tasks, more) = page.expect("the yard is up");
            open.extend(tasks.into_iter().filter_map(|view| view.task));
            next = more;
        }
        open
    }

    fn ended(&self) -> Vec<Arc<Task>> {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match history.news.try_recv() {
                Ok(Happened::TaskEnded { task, .. }) => history.ended.push(task),
                Ok(Happened::AttemptEnded { .. }) => {}
                Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                    panic!("{missed} news were missed: look at what was submitted more often")
                }
                Err(_) => return history.ended.clone(),
            }
        }
    }
}

fn read<T: TaskHandler>(task: &Task) -> T {
    let payload = payload::decode(task.body.args(), task.body.kwargs());
    payload.unwrap_or_else(|why| panic!("a task {} has another payload: {why}", T::NAME))
}

fn shown<T: TaskHandler>(payloads: &[T]) -> String {
    let each: Vec<_> =
        payloads.iter().map(|payload| serde_json::to_string(payload).unwrap_or_default()).collect();
    if each.is_empty() { "none".into() } else { each.join(", ") }
}

/// Hosts a handler that runs without a worker.
struct Alone(YardCalls);

impl Host for Alone {
    fn progress(&self, _: TaskId, _: Progress) {}

    fn call(
        &self,
        from: TaskId,
        command: String,
        data: Value,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let answer = self.0.call(from, command, data);
        async move { answer.await.map_err(CallError::Refused) }.boxed()
    }
}
