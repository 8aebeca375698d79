//! The actors that drive workers: launch, commands in batches, reports, and an end that is said exactly once.

use taskyard_actors::in_flight::InFlight;
use taskyard_actors::testing::{Probe, Toys, live};
use taskyard_actors::worker::{Launcher, Link, Reports};
use taskyard_actors::workers::Workers;
use taskyard_core::id::{PoolId, TaskId, WorkerId};
use taskyard_core::worker::{Command, Report, Signal, WorkerEnd};
use taskyard_core::{Machine, Now, pool};

struct AnyPool;

impl Machine for AnyPool {
    type Event = pool::Event;
    type Effect = ();
    fn handle(&mut self, _: Now, _: pool::Event, _: &mut Vec<()>) {}
}

const FIRST: WorkerId = WorkerId { pool: PoolId(0), number: 1 };

fn run(id: u128) -> Command {
    Command::Run { live: live(id, "echo", "", ""), timeout: None }
}

/// The workers of one pool, and a probe in the Pool's place.
fn workers(launcher: Box<dyn Launcher>) -> (Workers, Probe<AnyPool>, InFlight) {
    let in_flight = InFlight::default();
    let pool = Probe::start();
    (Workers::new("nlp", launcher, pool.recipient(), &in_flight), pool, in_flight)
}

fn send(workers: &mut Workers, commands: impl IntoIterator<Item = Command>) {
    commands.into_iter().for_each(|command| workers.put(FIRST, command));
    workers.deliver();
}

#[actix::test]
async fn a_worker_is_launched_runs_and_reports() {
    let toys = Toys::by_hand(1, Vec::new());
    let (mut workers, mut pool, _) = workers(toys.launcher());

    send(&mut workers, [Command::Launch]);
    pool.expect(|event| is_report(event, |report| matches!(report, Report::Ready { .. }))).await;
    send(&mut workers, [run(7)]);
    pool.expect(|event| is_report(event, |report| matches!(report, Report::Started { .. }))).await;
    toys.finish(TaskId(7), WorkerEnd::Cancelled);
    pool.expect(|event| is_report(event, |report| matches!(report, Report::Done { .. }))).await;
}

/// P22: what is gone leaves nothing behind.
#[actix::test]
async fn after_its_end_a_worker_hears_and_says_nothing_more() {
    let toys = Toys::by_hand(1, Vec::new());
    let (mut workers, mut pool, in_flight) = workers(toys.launcher());
    send(&mut workers, [Command::Launch, run(7), Command::Signal(Signal::Kill)]);
    in_flight.quiet().await;
    let reports = pool.rest();
    assert!(reports.last().is_some_and(|event| is_report(event, is_exit)), "{reports:?}");

    send(&mut workers, [run(8)]);
    in_flight.quiet().await;
    assert!(pool.rest().is_empty());
    assert!(toys.running().is_empty());
}

/// Panics when told to run; dropped, it would say nothing of itself.
struct Fragile;

impl Launcher for Fragile {
    fn launch(&mut self, _: WorkerId, name: &str, _: Reports) -> Box<dyn Link> {
        assert_eq!(name, "nlp-1", "made to panic for every other worker");
        Box::new(Self)
    }
}

impl Link for Fragile {
    fn tell(&mut self, _: Command) {
        panic!("made to panic")
    }
}

#[actix::test]
async fn a_link_that_panics_is_a_worker_that_exited() {
    let (mut workers, mut pool, _) = workers(Box::new(Fragile));
    send(&mut workers, [Command::Launch, run(7)]);
    pool.expect(|event| is_report(event, is_exit)).await;
}

#[actix::test]
async fn a_launcher_that_panics_is_a_worker_that_exited_and_can_launch_the_next() {
    let (mut workers, mut pool, _) = workers(Box::new(Fragile));
    workers.put(WorkerId { number: 2, ..FIRST }, Command::Launch);
    workers.deliver();
    pool.expect(|event| is_report(event, is_exit)).await;
    send(&mut workers, [Command::Launch, run(7)]);
    pool.expect(|event| matches!(event, pool::Event::Worker { worker: 1, .. })).await;
}

/// P25: reports after the end, from whatever thread, do not reach the Pool.
#[actix::test]
async fn only_the_first_end_counts() {
    struct Chatterbox;
    impl Launcher for Chatterbox {
        fn launch(&mut self, _: WorkerId, _: &str, reports: Reports) -> Box<dyn Link> {
            let exit = || Report::Exited { status: "exit status 0".into(), output: String::new() };
            reports.send_all(vec![exit(), Report::Started { id: TaskId(7) }]);
            reports.send_all(vec![Report::Started { id: TaskId(8) }, exit()]);
            Box::new(Fragile)
        }
    }
    let (mut workers, mut pool, in_flight) = workers(Box::new(Chatterbox));
    send(&mut workers, [Command::Launch]);
    in_flight.quiet().await;
    let reports = pool.rest();
    assert!(reports.len() == 1 && is_report(&reports[0], is_exit), "{reports:?}");
}

fn is_report(event: &pool::Event, is: impl Fn(&Report) -> bool) -> bool {
    matches!(event, pool::Event::Worker { worker: 1 | 2, report } if is(report))
}

fn is_exit(report: &Report) -> bool {
    matches!(report, Report::Exited { .. })
}
