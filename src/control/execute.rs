//! Carries control commands out on a running yard and says how that went. Who may ask, and over which transport, is not
//! decided here.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::{Value, json};
use taskyard_core::TaskId;
use taskyard_core::store::Filter;
use taskyard_core::task::Due;
use taskyard_core::wire::Rejected;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::level_filters::LevelFilter;

use super::{ControlCommand, Reply, show};
use crate::config::ScheduleSettings;
use crate::errors::{AskError, NoOutcome};
use crate::producers::Roster;
use crate::submit::read_task;
use crate::yard::{Remains, Yard};

/// Sets what the program logs; says why if it can't.
pub type LogLevelHook = Box<dyn Fn(LevelFilter) -> Result<(), String> + Send + Sync>;

/// Carries out control commands.
pub struct Executor {
    pub(super) yard: Yard,
    producers: Arc<Roster>,
    pub(super) schedules: Vec<ScheduleSettings>,
    log_level: OnceLock<LogLevelHook>,
    started: Instant,
    shutdown: watch::Sender<bool>,
    /// What a drain left on the board, once it is over.
    remains: watch::Sender<Option<Remains>>,
    replies: TaskTracker,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("yard", &self.yard).finish_non_exhaustive()
    }
}

pub(super) type Answer = Result<Value, Rejected>;

impl Executor {
    /// For this yard, whose producers are in the roster.
    pub fn new(yard: Yard, producers: Arc<Roster>) -> Self {
        Self {
            yard,
            producers,
            schedules: Vec::new(),
            log_level: OnceLock::new(),
            started: Instant::now(),
            shutdown: watch::Sender::new(false),
            remains: watch::Sender::new(None),
            replies: TaskTracker::new(),
        }
    }

    /// The schedules whose tasks this program posts.
    pub fn with_schedules(self, schedules: Vec<ScheduleSettings>) -> Self {
        Self { schedules, ..self }
    }

    /// What [`ControlCommand::SetLogLevel`] does. Only the first hook holds; without one the command is refused.
    pub fn on_log_level(&self, hook: LogLevelHook) {
        drop(self.log_level.set(hook));
    }

    /// Resolves once somebody asked for a shutdown or a drain.
    pub async fn shutdown_asked(&self) {
        // An error would mean that the sender is gone, and `self` holds it.
        drop(self.shutdown.subscribe().wait_for(|asked| *asked).await);
    }

    /// Asks the program to drain and end. Apart from [`execute`](Self::execute), so that the reply goes out first.
    pub fn shut_down(&self) {
        self.shutdown.send_replace(true);
    }

    /// The drain is over, and this remains: whoever asked for it is told.
    pub fn drained(&self, remains: Remains) {
        self.remains.send_replace(Some(remains));
    }

    /// Held while a command is carried out and its reply is on its way.
    pub fn replying(&self) -> TaskTrackerToken {
        self.replies.token()
    }

    /// Resolves once no reply is on its way any more.
    pub async fn replied(&self) {
        self.replies.close();
        self.replies.wait().await;
    }

    /// Carries a command out; after a [`ControlCommand::Shutdown`], [`shut_down`](Self::shut_down) is the caller's to call
    /// once the reply is out. [`ControlCommand::Run`] takes as long as its task, [`ControlCommand::Drain`] as long as the
    /// drain, the others are quick.
    pub async fn execute(&self, command: ControlCommand) -> Reply {
        self.answer(command).await.into()
    }

    async fn answer(&self, command: ControlCommand) -> Answer {
        match command {
            ControlCommand::Alive => Ok(self.alive()),
            ControlCommand::Status => self.status().await,
            ControlCommand::Running(filter) => Ok(self.running(&filter)),
            ControlCommand::Cancel(filter) => self.cancel(filter).await,
            ControlCommand::Workers => self.workers().await,
            ControlCommand::Producers => Ok(json!(self.producers.snapshots())),
            ControlCommand::Owners => self.owners().await,
            ControlCommand::Run(task) => self.run(&task).await,
            ControlCommand::TaskShow { id } => self.task(id).await,
            ControlCommand::Reschedule { id, due } => self.reschedule(id, due).await,
            ControlCommand::TrashList { filter, after, limit } => self.trash(filter, after, limit).await,
            ControlCommand::TrashShow { id } => self.trashed(id).await,
            ControlCommand::TrashRequeue(filter) => self.requeue(filter).await,
            ControlCommand::TrashPurge(filter) => self.purge(filter).await,
            ControlCommand::Schedules => self.schedules().await,
            ControlCommand::SchedulePause { name } => self.pause_schedule(&name, true).await,
            ControlCommand::ScheduleResume { name } => self.pause_schedule(&name, false).await,
            ControlCommand::ScheduleRun { name } => self.run_schedule(&name).await,
            ControlCommand::Pause { pool } => self.pause(&pool, true),
            ControlCommand::Resume { pool } => self.pause(&pool, false),
            ControlCommand::Scale { pool, min, max } => self.scale(&pool, min, max),
            ControlCommand::SetLogLevel(level) => self.set_log_level(level),
            ControlCommand::Drain => self.drain().await,
            ControlCommand::Shutdown => Ok(json!({ "shutdown": true })),
        }
    }

    fn alive(&self) -> Value {
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "uptime": self.started.elapsed().as_secs_f64(),
        })
    }

    async fn status(&self) -> Answer {
        let mut status = self.alive();
        let store = self.yard.store_status();
        status["store"] = show::store(&store);
        status["tasks"] = if store.down.is_some() { Value::Null } else { self.tasks().await? };
        status["ended"] = json!(self.yard.totals().await.map_err(failed)?);
        let pools = self.yard.pools().await.map_err(failed)?;
        status["pools"] = pools.into_iter().map(|(name, pool)| (name, show::pool(&pool))).collect();
        Ok(status)
    }

    /// Null: the store fails.
    async fn tasks(&self) -> Answer {
        match self.yard.counts().await {
            Ok(counts) => Ok(show::tasks(&counts, self.yard.stages())),
            Err(AskError::Store(_)) => Ok(Value::Null),
            Err(error) => Err(failed(error)),
        }
    }

    fn running(&self, filter: &Filter) -> Value {
        let now = self.yard.now().mono;
        let running = self.yard.running();
        let picked = running.iter().filter(|live| filter.picks(&live.task));
        picked.map(|live| show::running(&self.yard, live, now)).collect()
    }

    async fn cancel(&self, filter: Filter) -> Answer {
        let answers = self.yard.cancel(filter).await.map_err(failed)?;
        Ok(answers.iter().map(|(id, answer)| json!({ "uuid": id, "result": answer })).collect())
    }

    async fn workers(&self) -> Answer {
        let pools = self.yard.pools().await.map_err(failed)?;
        Ok(pools.iter().flat_map(|(name, pool)| show::workers(name, pool)).collect())
    }

    async fn run(&self, task: &str) -> Answer {
        let task = read_task(self.yard.registry(), task);
        let task = Arc::new(task.map_err(|rejected| rejected.inside("control_data.task"))?);
        let mut handle = self.yard.submit_task(task).await.map_err(|refused| failed(refused.why))?;
        let id = handle.id();
        let unknown = |why| failed(format!("task {id} was taken in, and how it ends is not known: {why}"));
        let outcome = handle.outcome().await.map_err(unknown)?;
        let mut shown = show::outcome(&outcome);
        shown["uuid"] = json!(id);
        Ok(shown)
    }

    async fn task(&self, id: TaskId) -> Answer {
        match self.yard.get(id).await.map_err(failed)? {
            Some(view) => Ok(show::task(&self.yard, &view)),
            None => Err(failed(NoOutcome::Unknown(id))),
        }
    }

    async fn reschedule(&self, id: TaskId, due: Due) -> Answer {
        let result = self.yard.reschedule(id, due).await.map_err(failed)?;
        Ok(json!({ "uuid": id, "result": result }))
    }

    fn pause(&self, pool: &str, paused: bool) -> Answer {
        self.yard.pause(pool, paused).map_err(failed)?;
        Ok(json!({ "pool": pool, "paused": paused }))
    }

    fn scale(&self, pool: &str, min: u32, max: u32) -> Answer {
        self.yard.scale(pool, min, max).map_err(failed)?;
        Ok(json!({ "pool": pool, "min": min, "max": max }))
    }

    fn set_log_level(&self, level: LevelFilter) -> Answer {
        let hook = self.log_level.get();
        let hook = hook.ok_or_else(|| failed("this program has no log whose level could be set"))?;
        hook(level).map_err(failed)?;
        Ok(json!({ "level": level.to_string() }))
    }

    async fn drain(&self) -> Answer {
        self.shut_down();
        let mut remains = self.remains.subscribe();
        let remains = remains.wait_for(Option::is_some).await.map_err(failed)?;
        let counts = remains.as_ref().and_then(|remains| remains.counts);
        Ok(json!({ "drained": true, "left": counts.as_ref().map(show::left) }))
    }
}

pub(super) fn failed(why: impl std::fmt::Display) -> Rejected {
    Rejected::message(why.to_string())
}
