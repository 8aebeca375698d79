//! A worker's actor: drives one worker through its [`Link`], whatever kind of worker that is, and sees to it that its end
//! is reported exactly once. It decides nothing about tasks.

use std::sync::Arc;

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message};
use taskyard_core::id::WorkerId;
use taskyard_core::pool;
use taskyard_core::worker::{Command, Report};

use crate::inlet::Inlet;
use crate::last_word::{LastWord, Passage};
use crate::tell::Tell;
use crate::workers::SharedLauncher;

/// Makes the workers of one pool come to be.
pub trait Launcher: 'static {
    /// Begins to launch one worker; its [`Report::Ready`] or [`Report::Exited`] follows through `reports`.
    /// Must not block.
    fn launch(&mut self, worker: WorkerId, name: &str, reports: Reports) -> Box<dyn Link>;
}

/// The way to one worker. Dropped after the worker's [`Report::Exited`], or when the yard ends.
pub trait Link: 'static {
    /// Passes a command on. Must not block.
    fn tell(&mut self, command: Command);

    /// All commands of this turn were told.
    fn flush(&mut self) {}
}

/// Where one worker's reports go; can be used from any thread.
#[derive(Clone)]
pub struct Reports(Arc<dyn Fn(Vec<Report>) + Send + Sync>);

impl Reports {
    /// Reports that are given to `f`, in order.
    pub fn new(f: impl Fn(Vec<Report>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }

    /// Reports one thing.
    pub fn send(&self, report: Report) {
        self.send_all(vec![report]);
    }

    /// Reports several things, in order.
    pub fn send_all(&self, reports: Vec<Report>) {
        if !reports.is_empty() {
            (self.0)(reports);
        }
    }
}

impl std::fmt::Debug for Reports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reports")
    }
}

/// Drives one worker; new for each.
pub struct Worker {
    id: WorkerId,
    name: String,
    launcher: SharedLauncher,
    link: Option<Box<dyn Link>>,
    end: LastWord,
}

/// The worker's end was reported: there is nothing left to drive.
#[derive(Message)]
#[rtype(result = "()")]
struct Gone;

impl Worker {
    /// A new actor for a worker that is not launched yet.
    pub(crate) fn hire(
        id: WorkerId,
        name: String,
        launcher: SharedLauncher,
        pool: &Arc<Inlet<pool::Event>>,
    ) -> Addr<Self> {
        let end = LastWord(Passage::new(id.number, pool));
        Self { id, name, launcher, link: None, end }.start()
    }

    fn launch(&mut self, reports: Reports) {
        // Borrowed by an actor of the same pool only if a launcher launches from within itself, which it has no way to.
        if let Ok(mut launcher) = self.launcher.try_borrow_mut() {
            self.link = Some(launcher.launch(self.id, &self.name, reports));
        }
    }

    fn reports(&self, ctx: &Context<Self>) -> Reports {
        let passage = Arc::clone(&self.end.0);
        let driver = ctx.address().downgrade();
        Reports::new(move |reports| {
            if passage.pass_on(reports)
                && let Some(driver) = driver.upgrade()
            {
                driver.do_send(Gone);
            }
        })
    }
}

impl Actor for Worker {
    type Context = Context<Self>;
}

impl Handler<Tell<Command>> for Worker {
    type Result = ();

    fn handle(&mut self, tell: Tell<Command>, ctx: &mut Context<Self>) {
        let (commands, _flight) = tell.open();
        for command in commands {
            match (command, &mut self.link) {
                (Command::Launch, _) => self.launch(self.reports(ctx)),
                (command, Some(link)) => link.tell(command),
                (_, None) => {}
            }
        }
        if let Some(link) = &mut self.link {
            link.flush();
        }
    }
}

impl Handler<Gone> for Worker {
    type Result = ();

    fn handle(&mut self, _: Gone, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}
