//! One schedule, several yards on one board.

use std::time::Duration;

use taskyard::Yard;
use taskyard::config::{Handlers, ScheduleSettings, Settings};
use taskyard::core::store::RowState;
use taskyard::core::time::Timestamp;
use taskyard::producers::schedules::Scheduled;
use taskyard::producers::supervision::Producers;
use taskyard::producers::{Intake, Kind, Roster, State};
use taskyard::testing::{BEGINNING, TestYard, Toys};

use crate::common::{echo, pool, soon};
use crate::node::{on, runtime};
use crate::server::Schema;

const EVERY: Duration = Duration::from_mins(10);
/// The clocks are the test's: no lease ends by them.
const LEASE: Duration = Duration::from_hours(1);

/// A yard that has the schedule, as a program of its own would.
struct Node {
    yard: TestYard,
    producers: Producers,
    roster: Roster,
}

impl Node {
    fn start(schema: &Schema) -> Self {
        let pool = pool(&Toys::instant(1, vec![echo()]));
        let builder = Yard::builder().store(on(schema, &schema.url, LEASE)).pool(pool);
        let yard = TestYard::start(builder, BEGINNING).expect("starts");
        Self { yard, producers: Producers::default(), roster: Roster::default() }
    }

    async fn join(&mut self) {
        let intake = Intake::new(self.yard.yard().clone(), self.roster.enter(Kind::Schedule, "s"));
        self.producers.start(Scheduled::new(schedule(), self.yard.now()), intake);
        self.done_until(BEGINNING).await;
    }

    /// Waits until the board says so.
    async fn done_until(&self, tick: Timestamp) {
        let yard = self.yard.yard();
        let is_done =
            async || yard.schedules().await.expect("up").first().map(|state| state.done) == Some(tick);
        soon(seen(is_done)).await;
    }

    /// Waits until the task of a tick has ended, wherever it ran.
    async fn ended(&self, tick: Timestamp) {
        let (yard, id) = (self.yard.yard(), schedule().id(tick));
        let is_over = async || {
            let view = yard.get(id).await.expect("up").expect("under the id of its tick");
            view.state == RowState::Ended && view.epoch == 1
        };
        soon(seen(is_over)).await;
    }
}

async fn seen(mut holds: impl AsyncFnMut() -> bool) {
    while !holds().await {
        tokio::task::yield_now().await;
    }
}

fn schedule() -> ScheduleSettings {
    let text = "[pools.all]\n[[schedules]]\nname = \"s\"\ntask = \"echo\"\nevery = \"10m\"";
    Settings::parse(text, Handlers::Own).expect("it can be read").schedules.remove(0)
}

/// D20
#[test]
fn each_tick_comes_once_however_many_yards_have_the_schedule() {
    let Some(schema) = Schema::new() else { return };
    let play = async |mut nodes: [Node; 2]| {
        for node in &mut nodes {
            node.join().await;
        }
        for tick in 1..=3 {
            let at = BEGINNING + tick * EVERY;
            for node in &nodes {
                node.yard.advance(EVERY).await;
            }
            for node in &nodes {
                node.done_until(at).await;
            }
            nodes[0].ended(at).await;
        }
        for node in &mut nodes {
            node.producers.stop().await;
            assert!(node.roster.snapshots().iter().all(|seen| seen.state == State::Running), "none failed");
        }
    };
    runtime().block_on(play([Node::start(&schema), Node::start(&schema)]));
    let ran = format!("SELECT count(*) FROM {}.history", schema.name);
    assert_eq!(schema.direct.rows(&ran, &[])[0].get::<_, i64>(0), 3);
}
