//! Drives one worker: tells it commands and waits for its reports.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use taskyard::context::{Calls, NoCalls};
use taskyard::process::{LauncherThread, ProcessLauncher, ProcessSettings, Program};
use taskyard_actors::testing::live;
use taskyard_actors::{Launcher as _, Link, Reports};
use taskyard_core::TaskId;
use taskyard_core::id::{PoolId, WorkerId};
use taskyard_core::live::Live;
use taskyard_core::names::TaskName;
use taskyard_core::worker::{CancelReason, Command, Report, Signal, WorkerEnd};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::LocalSet;

/// Nothing here may take longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Rig {
    pub(crate) link: Box<dyn Link>,
    reports: UnboundedReceiver<Vec<Report>>,
    kept: VecDeque<Report>,
}

/// Runs a test as the yard's thread runs.
pub(crate) fn on_the_yards_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

pub(crate) fn own_binary() -> ProcessSettings {
    let mut settings = ProcessSettings::new("tests", Program::OwnBinary);
    settings.worker_args = ["--exact", "worker_entry", "--nocapture"].map(String::from).into();
    settings
}

pub(crate) fn command(program: &str, args: &[&str]) -> ProcessSettings {
    let program =
        Program::Command { program: program.into(), args: args.iter().copied().map(String::from).collect() };
    ProcessSettings { program, ..own_binary() }
}

pub(crate) fn launch(settings: ProcessSettings) -> Rig {
    launch_with(settings, Arc::new(NoCalls))
}

pub(crate) fn launch_with(settings: ProcessSettings, calls: Arc<dyn Calls>) -> Rig {
    let thread = LauncherThread::start().unwrap();
    let (sender, reports) = unbounded_channel();
    let reported = Reports::new(move |reports| drop(sender.send(reports)));
    let worker = WorkerId { pool: PoolId(0), number: 1 };
    let link = ProcessLauncher::new(settings, thread, calls).launch(worker, "tests-1", reported);
    Rig { link, reports, kept: VecDeque::new() }
}

impl Rig {
    pub(crate) async fn next(&mut self) -> Report {
        while self.kept.is_empty() {
            let reports = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
            self.kept.extend(reports.expect("a report in time").expect("a report"));
        }
        self.kept.pop_front().unwrap()
    }

    pub(crate) async fn ready(&mut self) -> Vec<TaskName> {
        match self.next().await {
            Report::Ready { names, .. } => names,
            report => panic!("not ready: {report:?}"),
        }
    }

    pub(crate) fn run(&mut self, id: u128, name: &str) -> Arc<Live> {
        self.run_with(id, name, "[]", "{}")
    }

    pub(crate) fn run_with(&mut self, id: u128, name: &str, args: &str, kwargs: &str) -> Arc<Live> {
        let live = live(id, name, args, kwargs);
        self.tell(Command::Run { live: Arc::clone(&live), timeout: None });
        live
    }

    pub(crate) fn cancel(&mut self, id: u128) {
        self.tell(Command::Cancel { id: TaskId(id), reason: CancelReason::User });
    }

    pub(crate) fn recall(&mut self, id: u128) {
        self.tell(Command::Recall { id: TaskId(id) });
    }

    pub(crate) fn kill(&mut self) {
        self.tell(Command::Signal(Signal::Kill));
    }

    pub(crate) fn tell(&mut self, command: Command) {
        self.link.tell(command);
        self.link.flush();
    }

    pub(crate) async fn started(&mut self, number: u128) {
        let report = self.next().await;
        assert!(matches!(report, Report::Started { id: TaskId(id) } if id == number), "{report:?}");
    }

    pub(crate) async fn done(&mut self, number: u128) -> WorkerEnd {
        match self.next().await {
            Report::Done { id: TaskId(id), end } if id == number => end,
            report => panic!("not the end of {number}: {report:?}"),
        }
    }

    pub(crate) async fn returned(&mut self, number: u128) {
        let report = self.next().await;
        assert!(matches!(report, Report::Returned { id: TaskId(id) } if id == number), "{report:?}");
    }

    /// Runs a task to its end.
    pub(crate) async fn end_of(&mut self, number: u128, name: &str) -> WorkerEnd {
        self.run(number, name);
        self.started(number).await;
        self.done(number).await
    }

    pub(crate) async fn fault(&mut self) -> String {
        match self.next().await {
            Report::Fault { what } => what,
            report => panic!("not a fault: {report:?}"),
        }
    }

    pub(crate) async fn exited(&mut self) -> (String, String) {
        match self.next().await {
            Report::Exited { status, output } => (status, output),
            report => panic!("not gone: {report:?}"),
        }
    }

    /// Runs a task that ends its worker so soon that its start may not have been told.
    pub(crate) async fn death_by(&mut self, number: u128, name: &str) -> (String, String) {
        self.run(number, name);
        match self.next().await {
            Report::Started { .. } => self.exited().await,
            Report::Exited { status, output } => (status, output),
            report => panic!("not gone: {report:?}"),
        }
    }

    /// The worker still works: it runs a task and ends when told to.
    pub(crate) async fn works_and_stops(mut self) {
        assert!(matches!(self.end_of(999, "pid").await, WorkerEnd::Succeeded(_)));
        self.tell(Command::Stop);
        assert_eq!(self.exited().await.0, "exit status 0");
    }
}
