//! Carries control commands out on a running yard and says how that went. Who may ask, and over which transport, is not
//! decided here.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use taskyard_core::TaskId;
use taskyard_core::store::Filter;
use taskyard_core::task::Due;
use taskyard_core::wire::Rejected;
use tokio::sync::watch;

use super::{ControlCommand, Reply, show};
use crate::errors::NoOutcome;
use crate::producers::Roster;
use crate::submit::read_task;
use crate::yard::Yard;

/// Carries out control commands.
#[derive(Debug)]
pub struct Executor {
    yard: Yard,
    producers: Arc<Roster>,
    started: Instant,
    shutdown: watch::Sender<bool>,
}

type Answer = Result<Value, Rejected>;

impl Executor {
    /// For this yard, whose producers are in the roster.
    pub fn new(yard: Yard, producers: Arc<Roster>) -> Self {
        Self { yard, producers, started: Instant::now(), shutdown: watch::Sender::new(false) }
    }

    /// Resolves once somebody asked for a shutdown.
    pub async fn shutdown_asked(&self) {
        // An error would mean that the sender is gone, and `self` holds it.
        drop(self.shutdown.subscribe().wait_for(|asked| *asked).await);
    }

    /// Asks the program to drain and end. Apart from [`execute`](Self::execute), so that the reply goes out first.
    pub fn shut_down(&self) {
        self.shutdown.send_replace(true);
    }

    /// Carries a command out; after a [`ControlCommand::Shutdown`], [`shut_down`](Self::shut_down) is the caller's to call
    /// once the reply is out. [`ControlCommand::Run`] takes as long as its task, the others are quick.
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
            ControlCommand::Run(task) => self.run(&task).await,
            ControlCommand::Shutdown => Ok(json!({ "shutdown": true })),
            ControlCommand::Pause { pool } => self.pause(&pool, true),
            ControlCommand::Resume { pool } => self.pause(&pool, false),
            ControlCommand::Scale { pool, min, max } => {
                self.yard.scale(&pool, min, max).map_err(failed)?;
                Ok(json!({ "pool": pool, "min": min, "max": max }))
            }
            ControlCommand::Reschedule { id, due } => self.reschedule(id, due).await,
            ControlCommand::TaskShow { id } => self.task(id).await,
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
        let counts = self.yard.counts().await.map_err(failed)?;
        status["tasks"] = show::tasks(&counts, self.yard.stages());
        status["ended"] = json!(self.yard.totals().await.map_err(failed)?);
        let pools = self.yard.pools().await.map_err(failed)?;
        status["pools"] = pools.into_iter().map(|(name, pool)| (name, show::pool(&pool))).collect();
        Ok(status)
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
        let outcome = handle.outcome().await.map_err(failed)?;
        let mut shown = show::outcome(&outcome);
        shown["uuid"] = json!(handle.id());
        Ok(shown)
    }

    fn pause(&self, pool: &str, paused: bool) -> Answer {
        self.yard.pause(pool, paused).map_err(failed)?;
        Ok(json!({ "pool": pool, "paused": paused }))
    }

    async fn reschedule(&self, id: TaskId, due: Due) -> Answer {
        let result = self.yard.reschedule(id, due).await.map_err(failed)?;
        Ok(json!({ "uuid": id, "result": result }))
    }

    async fn task(&self, id: TaskId) -> Answer {
        match self.yard.get(id).await.map_err(failed)? {
            Some(view) => Ok(show::task(&self.yard, &view)),
            None => Err(failed(NoOutcome::Unknown(id))),
        }
    }
}

fn failed(why: impl std::fmt::Display) -> Rejected {
    Rejected::message(why.to_string())
}
