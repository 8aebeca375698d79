//! A worker's thread: takes tasks from the desk, runs them, reports in batches. It never decides which task is next.

use std::io;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{Abortable, LocalBoxFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};
use taskyard_actors::Reports;
use taskyard_actors::in_flight::{Flight, InFlight};
use taskyard_core::TaskId;
use taskyard_core::worker::{Report, WorkerEnd};
use tokio::task::LocalSet;

use super::counted::Counted;
use super::link::{Desk, Job, Orders, Taken};
use super::{Crew, InHouse};
use crate::context::{Context, Host, Pass};
use crate::registry::Registry;

/// Reports are sent at the latest when so many are kept.
const KEPT_MAX: usize = 256;
/// After so many tasks in a row the runtime looks after timers and connections, however many more wait.
const TURNS_MAX: usize = 128;

/// Works until told to end.
pub(super) fn work(
    crew: &Crew,
    desk: &Arc<Desk>,
    reports: &Reports,
    counted: Option<(Flight, InFlight)>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = Arc::new(InHouse { desk: Arc::clone(desk), calls: Arc::clone(&crew.calls) });
    let mut shift = Shift {
        crew,
        desk,
        host,
        outbox: Outbox { reports, kept: Vec::new() },
        running: FuturesUnordered::new(),
    };
    let work = match counted {
        None => shift.work().boxed_local(),
        Some((flight, in_flight)) => {
            Counted::new(in_flight, flight, shift.work().boxed_local()).boxed_local()
        }
    };
    LocalSet::new().block_on(&runtime, work);
    drop(shift);
    // What handlers left on blocking threads is not waited for.
    runtime.shutdown_background();
    Ok(())
}

struct Shift<'a> {
    crew: &'a Crew,
    desk: &'a Desk,
    host: Arc<dyn Host>,
    outbox: Outbox<'a>,
    running: FuturesUnordered<LocalBoxFuture<'static, (TaskId, WorkerEnd)>>,
}

struct Outbox<'a> {
    reports: &'a Reports,
    kept: Vec<Report>,
}

impl Shift<'_> {
    async fn work(&mut self) {
        let crew = self.crew;
        let names = crew.registry.names().cloned().collect();
        let options = crew.options;
        self.outbox.push(Report::Ready { concurrency: options.concurrency, ahead: options.ahead, names });
        loop {
            self.take_in();
            let mut turns = 0;
            while turns < TURNS_MAX
                && let Some(Some(end)) = self.running.next().now_or_never()
            {
                self.ended(end);
                self.take_in();
                turns += 1;
            }
            self.outbox.send();
            let Orders { stop, kill } = self.desk.orders();
            if kill || (stop && self.running.is_empty() && self.desk.is_clear()) {
                return;
            }
            if turns == TURNS_MAX {
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                Some(end) = self.running.next(), if !self.running.is_empty() => self.ended(end),
                () = self.desk.rung.notified() => {}
            }
        }
    }

    fn take_in(&mut self) {
        let room = (self.crew.options.concurrency as usize).saturating_sub(self.running.len());
        if room == 0 {
            return;
        }
        let host = &self.host;
        for taken in self.desk.take(room, |job| context(job, host)) {
            self.outbox.push(Report::Started { id: taken.cx.id() });
            self.running.push(run(&self.crew.registry, taken));
        }
        if !self.crew.droppable {
            // The handler may block this thread from here on.
            self.outbox.send();
        }
    }

    fn ended(&mut self, (id, end): (TaskId, WorkerEnd)) {
        self.desk.close(id);
        self.outbox.push(Report::Done { id, end });
    }
}

fn context(job: &Job, host: &Arc<dyn Host>) -> Context {
    Context::new(Pass::of(&job.live, job.timeout), Arc::clone(host))
}

fn run(registry: &Registry, taken: Taken) -> LocalBoxFuture<'static, (TaskId, WorkerEnd)> {
    let Taken { job, cx, drop } = taken;
    let id = cx.id();
    let run = registry.run_task(&job.live.task, cx);
    Abortable::new(run, drop).map(move |end| (id, end.unwrap_or(WorkerEnd::Cancelled))).boxed_local()
}

impl Outbox<'_> {
    fn push(&mut self, report: Report) {
        self.kept.push(report);
        if self.kept.len() >= KEPT_MAX {
            self.send();
        }
    }

    fn send(&mut self) {
        if !self.kept.is_empty() {
            self.reports.send_all(std::mem::take(&mut self.kept));
        }
    }
}
