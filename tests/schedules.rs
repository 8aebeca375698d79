//! Schedules that the board keeps: each tick once, whoever looks, and whenever.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::gate::Scratch;
use common::{echo, pool, soon, task};
use futures::future::join;
use taskyard::config::{Handlers, ScheduleSettings, Settings};
use taskyard::core::board;
use taskyard::core::rfc3339;
use taskyard::core::store::{RowState, ScheduleState};
use taskyard::core::time::Timestamp;
use taskyard::core::worker::WorkerEnd;
use taskyard::producers::schedules::Scheduled;
use taskyard::producers::supervision::Producers;
use taskyard::producers::{Intake, Kind, Roster, State};
use taskyard::store::Durability;
use taskyard::testing::{BEGINNING, TestYard, Toys};
use taskyard::{Builder, StoreChoice, Yard};

const MINUTE: Duration = Duration::from_mins(1);

/// A schedule called `s`, of tasks that are called `echo`.
fn schedule(more: &str) -> ScheduleSettings {
    let text = format!("[pools.all]\n[[schedules]]\nname = \"s\"\ntask = \"echo\"\n{more}");
    Settings::parse(&text, Handlers::Own).expect("it can be read").schedules.remove(0)
}

fn every_ten_minutes(catch_up: &str) -> ScheduleSettings {
    schedule(&format!("every = \"10m\"\ncatch_up = \"{catch_up}\""))
}

/// A yard on a clock of its own, and those that post a schedule there: as many programs on one board would.
struct Nodes {
    yard: TestYard,
    roster: Roster,
    producers: Producers,
}

impl Nodes {
    fn start(toys: &Toys, wall: Timestamp) -> Self {
        Self::of(Yard::builder().pool(pool(toys)), wall)
    }

    fn of(builder: Builder, wall: Timestamp) -> Self {
        let yard = TestYard::start(builder, wall).expect("starts");
        Self { yard, roster: Roster::default(), producers: Producers::default() }
    }

    /// One more that has this schedule; the first one has looked at the board when this returns.
    async fn join(&mut self, settings: ScheduleSettings) {
        let status = self.roster.enter(Kind::Schedule, "s");
        let intake = Intake::new(self.yard.yard().clone(), status);
        self.producers.start(Scheduled::new(settings, self.yard.now()), intake);
        self.seen(|_| true).await;
    }

    /// All of them stop.
    async fn stop(&mut self) {
        self.producers.stop().await;
    }

    /// The schedule, once the board has it so.
    async fn seen(&self, is_right: impl Fn(&ScheduleState) -> bool) {
        let looks = async {
            loop {
                let found = self.yard.yard().schedules().await.expect("up");
                if found.first().is_some_and(&is_right) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        soon(looks).await;
        self.yard.quiet().await;
    }

    async fn done_until(&self, tick: Timestamp) {
        self.seen(|state| state.done == tick).await;
    }

    /// Until the first that has it meets a full board.
    async fn wait_for_room(&self) {
        let looks = async {
            while self.roster.snapshots()[0].state != State::Full {
                tokio::task::yield_now().await;
            }
        };
        soon(looks).await;
    }

    /// How many tasks ran.
    async fn runs(&self) -> u64 {
        self.yard.quiet().await;
        self.yard.yard().totals().await.expect("up").succeeded
    }
}

fn toys() -> Toys {
    Toys::instant(1, vec![echo()])
}

/// D20
#[tokio::test]
async fn each_tick_comes_once_however_many_have_the_schedule() {
    let mut nodes = Nodes::start(&toys(), BEGINNING);
    let settings = every_ten_minutes("one");
    nodes.join(settings.clone()).await;
    nodes.join(settings.clone()).await;
    for tick in 1..=3 {
        nodes.yard.advance(10 * MINUTE).await;
        let at = BEGINNING + 10 * tick * MINUTE;
        nodes.done_until(at).await;
        let posted = nodes.yard.yard().get(settings.id(at)).await.expect("up");
        assert_eq!(posted.map(|view| view.state), Some(RowState::Ended), "under the id of its tick");
    }
    nodes.stop().await;
    assert_eq!(nodes.runs().await, 3);
    assert!(nodes.roster.snapshots().iter().all(|node| node.state == State::Running), "none failed");
}

/// D20, of two yards on one board on disk, whose clocks come to each tick together.
#[tokio::test]
async fn each_tick_comes_once_to_two_yards_on_one_file() {
    let (disk, toys, settings) = (Scratch::new(), toys(), every_ten_minutes("one"));
    let store = StoreChoice::sqlite(disk.path().join("tasks.db")).durability(Durability::Normal);
    let open = || Nodes::of(Yard::builder().store(store.clone()).pool(pool(&toys)), BEGINNING);
    let (mut a, mut b) = (open(), open());
    a.join(settings.clone()).await;
    b.join(settings.clone()).await;
    for tick in 1..=3 {
        join(a.yard.advance(10 * MINUTE), b.yard.advance(10 * MINUTE)).await;
        let at = BEGINNING + 10 * tick * MINUTE;
        join(a.done_until(at), b.done_until(at)).await;
        let posted = a.yard.yard().get(settings.id(at)).await.expect("up");
        assert_eq!(posted.map(|view| (view.state, view.epoch)), Some((RowState::Ended, 1)), "tick {tick}");
    }
    assert_eq!(a.runs().await + b.runs().await, 3);
    let nodes = [a.roster.snapshots(), b.roster.snapshots()].concat();
    assert!(nodes.iter().all(|node| node.state == State::Running), "none failed");
}

/// D20
#[tokio::test]
async fn after_a_stop_the_policy_decides_over_the_ticks_that_were_missed() {
    for (catch_up, runs) in [("skip", 0), ("one", 1), ("all", 3)] {
        let mut nodes = Nodes::start(&toys(), BEGINNING);
        nodes.join(every_ten_minutes(catch_up)).await;
        nodes.stop().await;
        nodes.yard.advance(35 * MINUTE).await;
        nodes.join(every_ten_minutes(catch_up)).await;
        nodes.done_until(BEGINNING + 30 * MINUTE).await;
        assert_eq!(nodes.runs().await, runs, "{catch_up}");
    }
}

/// D20: in Berlin an hour is skipped in the one night, and comes twice in the other.
#[tokio::test]
async fn a_clock_that_is_set_changes_what_it_is_documented_to_change() {
    let spring = ("2024-03-30T23:00:00Z", "2024-03-31T03:00:00Z");
    let autumn = ("2024-10-26T22:30:00Z", "2024-10-27T02:00:00Z");
    for (cron, (from, to), runs) in [
        ("30 2 * * *", spring, 1),
        ("30 2 * * *", autumn, 1),
        ("*/30 2 * * *", spring, 0),
        ("*/30 2 * * *", autumn, 4),
    ] {
        let (from, to) = (rfc3339::parse(from).expect("a time"), rfc3339::parse(to).expect("a time"));
        let mut nodes = Nodes::start(&toys(), from);
        let more = format!("cron = \"{cron}\"\ntime_zone = \"Europe/Berlin\"\ncatch_up = \"all\"");
        nodes.join(schedule(&more)).await;
        nodes.yard.advance(Duration::from_micros(to.since(from).unsigned_abs())).await;
        if runs > 0 {
            nodes.seen(|state| state.done > from).await;
        }
        assert_eq!(nodes.runs().await, runs, "{cron} from {from:?}");
    }
}

#[tokio::test]
async fn a_pause_holds_for_all_and_the_policy_decides_over_what_it_missed() {
    let mut nodes = Nodes::start(&toys(), BEGINNING);
    nodes.join(every_ten_minutes("all")).await;
    let yard = nodes.yard.yard().clone();
    let paused = yard.pause_schedule("s", true).await.expect("up").expect("it is there");
    assert_eq!((paused.paused, paused.done), (true, BEGINNING));
    nodes.yard.advance(20 * MINUTE).await;
    soon(async {
        while nodes.roster.snapshots()[0].received < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    nodes.join(every_ten_minutes("all")).await;
    assert_eq!(nodes.runs().await, 0, "it tried both ticks, and the board took none");
    yard.pause_schedule("s", false).await.expect("up");
    nodes.done_until(BEGINNING + 20 * MINUTE).await;
    assert_eq!(nodes.runs().await, 2);
    assert_eq!(yard.pause_schedule("t", true).await, Ok(None), "there is none of that name");
}

/// Until then it is not done with: should its dispatcher end, another would take it.
#[tokio::test]
async fn a_tick_that_meets_a_full_board_waits_for_room() {
    let toys = Toys::by_hand(1, vec![echo()]);
    let narrow = board::Settings { board_max: 1, ..board::Settings::default() };
    let mut nodes = Nodes::of(Yard::builder().pool(pool(&toys)).board(narrow), BEGINNING);
    let yard = nodes.yard.yard().clone();
    let first = yard.submit_task(Arc::new(task())).await.expect("taken");
    let settings = every_ten_minutes("one");
    nodes.join(settings.clone()).await;
    nodes.yard.advance(10 * MINUTE).await;
    nodes.wait_for_room().await;
    let id = settings.id(BEGINNING + 10 * MINUTE);
    assert!(yard.get(id).await.expect("up").is_none(), "there is no room");
    nodes.done_until(BEGINNING).await;
    toys.finish(first.id(), WorkerEnd::Succeeded("null".into()));
    toys.started(id).await;
    nodes.done_until(BEGINNING + 10 * MINUTE).await;
    toys.finish(id, WorkerEnd::Succeeded("null".into()));
}
