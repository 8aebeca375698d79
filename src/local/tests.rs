use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use taskyard_actors::testing::live;
use taskyard_core::live::Live;
use taskyard_core::worker::{CancelReason, Command, Signal, WorkerEnd};

use super::*;
use crate::context::NoCalls;
use crate::handler::HandlerError;

struct Rig {
    link: Box<dyn Link>,
    reports: Receiver<Vec<Report>>,
    kept: std::collections::VecDeque<Report>,
}

fn registry() -> Registry {
    let registry = Registry::new()
        .register_fn("echo", |args, _, _| async move { Ok(args) })
        .and_then(|registry| registry.register_fn("wait", |_, _, cx| async move { wait(cx).await }))
        .and_then(|registry| {
            registry.register_fn("for_ever", |_, _, _| std::future::pending::<Result<(), _>>())
        })
        .and_then(|registry| registry.register_fn("block", |_, _, cx| async move { block(&cx) }))
        .and_then(|registry| registry.register_fn("park", |_, _, cx| async move { park(&cx) }))
        .and_then(|registry| registry.register_fn("panic", |_, _, _| async { panics() }));
    registry.unwrap()
}

fn park(cx: &crate::context::Context) -> Result<(), HandlerError> {
    cx.progress(0.5, "parked");
    loop {
        std::thread::park();
    }
}

fn panics() -> Result<(), HandlerError> {
    panic!("on purpose")
}

async fn wait(cx: crate::context::Context) -> Result<String, HandlerError> {
    cx.progress(0.5, "half");
    Ok(format!("{:?}", cx.cancelled().await))
}

fn block(cx: &crate::context::Context) -> Result<&'static str, HandlerError> {
    while !cx.is_cancelled() {
        std::thread::yield_now();
    }
    Err(HandlerError::cancelled())
}

fn rig(droppable: bool, concurrency: u32, ahead: u32) -> Rig {
    let (sender, reports) = channel();
    let options = Options { concurrency, ahead };
    let threads = Threads::at_most(usize::MAX);
    let (registry, calls) = (registry(), Arc::new(NoCalls));
    let crew = Crew { registry, calls, options, droppable, in_flight: None, threads };
    let link = crew.start("t-1", Reports::new(move |reports| drop(sender.send(reports))));
    let mut rig = Rig { link, reports, kept: std::collections::VecDeque::new() };
    assert!(matches!(rig.next(), Report::Ready { .. }));
    rig
}

impl Rig {
    fn next(&mut self) -> Report {
        while self.kept.is_empty() {
            self.kept.extend(self.reports.recv_timeout(Duration::from_secs(20)).expect("a report"));
        }
        self.kept.pop_front().unwrap()
    }

    fn run(&mut self, id: u128, name: &str) -> Arc<Live> {
        let live = live(id, name, "[1]", "{}");
        self.link.tell(Command::Run { live: Arc::clone(&live), timeout: None });
        self.link.flush();
        live
    }

    #[track_caller]
    fn started(&mut self, number: u128) {
        let report = self.next();
        assert!(matches!(report, Report::Started { id: TaskId(id) } if id == number), "{report:?}");
    }

    #[track_caller]
    fn done(&mut self, number: u128) -> WorkerEnd {
        match self.next() {
            Report::Done { id: TaskId(id), end } if id == number => end,
            report => panic!("not the end of {number}: {report:?}"),
        }
    }
}

const REASON: CancelReason = CancelReason::User;

#[test]
fn a_task_runs_on_both_kinds() {
    for droppable in [true, false] {
        let mut rig = rig(droppable, 1, 0);
        rig.run(1, "echo");
        rig.started(1);
        assert_eq!(rig.done(1), WorkerEnd::Succeeded("[1]".into()));
        rig.run(2, "panic");
        rig.started(2);
        let WorkerEnd::Failed(error) = rig.done(2) else { panic!("it did not fail") };
        assert_eq!((&*error.kind, &*error.message, error.retry), ("panic", "on purpose", true));
        rig.link.tell(Command::Stop);
        assert!(matches!(rig.next(), Report::Exited { .. }));
    }
}

#[test]
fn an_async_handler_sees_its_cancel_and_tells_its_progress() {
    let mut rig = rig(true, 2, 0);
    let waiting = rig.run(1, "wait");
    rig.started(1);
    rig.run(2, "echo");
    rig.started(2);
    rig.done(2);
    assert_eq!(waiting.progress().unwrap().note.as_deref(), Some("half"));
    rig.link.tell(Command::Cancel { id: TaskId(1), reason: REASON });
    assert_eq!(rig.done(1), WorkerEnd::Succeeded("\"User\"".into()));
}

#[test]
fn a_recall_and_a_cancel_are_answered_while_a_handler_blocks() {
    let mut rig = rig(false, 1, 4);
    rig.run(1, "block");
    rig.started(1);
    (2..5).for_each(|id| drop(rig.run(id, "echo")));
    rig.link.tell(Command::Recall { id: TaskId(2) });
    assert!(matches!(rig.next(), Report::Returned { id: TaskId(2) }));
    rig.link.tell(Command::Cancel { id: TaskId(3), reason: REASON });
    rig.started(3);
    assert_eq!(rig.done(3), WorkerEnd::Cancelled);
    rig.link.tell(Command::Recall { id: TaskId(1) });
    rig.link.tell(Command::Signal(Signal::Kill));
    rig.link.tell(Command::Cancel { id: TaskId(1), reason: REASON });
    assert_eq!(rig.done(1), WorkerEnd::Cancelled);
    rig.started(4);
    rig.done(4);
}

#[test]
fn term_drops_only_what_was_told_to_end_and_kill_drops_all() {
    let mut rig = rig(true, 3, 0);
    for id in 1..3 {
        rig.run(id, "for_ever");
        rig.started(id);
    }
    rig.link.tell(Command::Cancel { id: TaskId(2), reason: REASON });
    rig.link.tell(Command::Signal(Signal::Term));
    assert_eq!(rig.done(2), WorkerEnd::Cancelled);
    rig.link.tell(Command::Signal(Signal::Kill));
    assert!(matches!(rig.next(), Report::Exited { .. }));
}

#[test]
fn stop_lets_everything_finish_that_was_told() {
    let mut rig = rig(false, 1, 4);
    (1..4).for_each(|id| drop(rig.run(id, "echo")));
    rig.link.tell(Command::Stop);
    for id in 1..4 {
        rig.started(id);
        rig.done(id);
    }
    assert!(matches!(rig.next(), Report::Exited { .. }));
}

#[test]
fn a_worker_whose_link_is_gone_ends() {
    let Rig { link, reports, .. } = rig(true, 1, 0);
    drop(link);
    assert!(matches!(reports.recv_timeout(Duration::from_secs(20)).unwrap()[..], [Report::Exited { .. }]));
}

/// Seen: an inline pool whose handler blocked for ever never ended, and neither did a drain.
#[test]
fn a_kill_does_not_wait_for_a_handler_that_blocks() {
    let mut rig = rig(true, 1, 0);
    let live = rig.run(1, "park");
    while live.progress().is_none() {
        std::thread::yield_now();
    }
    rig.link.tell(Command::Signal(Signal::Kill));
    assert!(matches!(rig.next(), Report::Exited { .. }));
}

#[test]
fn threads_that_are_left_behind_are_bounded() {
    let options = Options { concurrency: 1, ahead: 0 };
    let (registry, calls, threads) = (registry(), Arc::new(NoCalls), Threads::at_most(1));
    let crew = Crew { registry, calls, options, droppable: true, in_flight: None, threads };
    let (sender, reports) = channel();
    let start = || {
        let sender = sender.clone();
        crew.start("t-1", Reports::new(move |reports| drop(sender.send(reports))))
    };
    let next = || reports.recv_timeout(Duration::from_secs(20)).unwrap().pop().unwrap();
    let first = start();
    assert!(matches!(next(), Report::Ready { .. }));
    drop(start());
    assert!(matches!(next(), Report::Exited { status, .. } if status.contains("1 threads are blocked")));
    drop(first);
    assert!(matches!(next(), Report::Exited { .. }));
}
