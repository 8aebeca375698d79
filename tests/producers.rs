//! Producers in a yard of in-memory workers: they fail and come back, wait for room, and lose nothing.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{echo, pool, soon, task, yard};
use taskyard::core::status::PoolStatus;
use taskyard::core::store::StoreError;
use taskyard::core::{board, conductor};
use taskyard::producers::batch::Run;
use taskyard::producers::file::{JsonLines, LineNews, Source};
use taskyard::producers::supervision::Producers;
use taskyard::producers::{Intake, Kind, Producer, ProducerError, Roster, State};
use taskyard::testing::{Faults, Shared, Toys};
use taskyard::{StoreChoice, Yard};
use tokio::sync::mpsc;

/// Panics, then fails, then posts a task and is done; says each time that it was run.
struct Shaky {
    runs: u32,
    told: mpsc::UnboundedSender<u32>,
}

impl Producer for Shaky {
    async fn run(&mut self, intake: &Intake) -> Result<(), ProducerError> {
        self.runs += 1;
        self.told.send(self.runs).expect("the test listens");
        match self.runs {
            1 => panic!("a panic on purpose"),
            2 => {
                Err(ProducerError::Source { what: "the source".into(), error: std::io::Error::other("gone") })
            }
            _ => {
                let answers = intake.post(vec![Arc::new(task())]).await;
                assert!(answers.iter().all(Result::is_ok));
                Ok(())
            }
        }
    }
}

#[tokio::test]
async fn a_producer_that_fails_is_run_again_and_says_so() {
    let (toys, roster) = (Toys::instant(1, vec![echo()]), Roster::default());
    let yard = yard(&toys);
    let (told, mut runs) = mpsc::unbounded_channel();
    let mut producers = Producers::default();
    let status = roster.enter(Kind::Socket, "shaky");
    producers.start(Shaky { runs: 0, told }, Intake::new(yard.clone(), status));
    assert_eq!(soon(runs.recv()).await, Some(1));
    assert_eq!(soon(runs.recv()).await, Some(2), "after its panic");
    assert_eq!(soon(runs.recv()).await, Some(3), "after its failure");
    assert_eq!(soon(runs.recv()).await, None, "it was done and dropped");
    let seen = roster.snapshots().remove(0);
    assert_eq!((seen.state, seen.last_error.as_deref()), (State::Done, Some("the source: gone")));
}

/// One task fits on the board; each of many gets its turn.
#[tokio::test]
async fn a_producer_waits_for_room_and_each_task_runs_once() {
    let (toys, roster) = (Toys::instant(1, vec![echo()]), Roster::default());
    let narrow = board::Settings { board_max: 1, ..board::Settings::default() };
    let yard = Yard::builder().pool(pool(&toys)).board(narrow).start().expect("starts");
    let intake = Intake::new(yard.clone(), roster.enter(Kind::File, "many"));
    let taken = soon(intake.submit((0..20).map(|_| Arc::new(task())).collect(), None)).await;
    assert!(taken.answers.iter().all(Result::is_ok));
    let mut ended = 0;
    for batch in taken.batches {
        ended += soon(batch.outcomes()).await.expect("up").len();
    }
    assert_eq!(ended, 20);
    assert_eq!(soon(yard.totals()).await.expect("up").succeeded, 20);
    assert_eq!(roster.snapshots()[0].state, State::Running);
}

#[tokio::test]
async fn a_file_that_failed_is_read_on_from_where_it_was() {
    let (toys, roster) = (Toys::instant(1, vec![echo()]), Roster::default());
    let yard = yard(&toys);
    let path = std::env::temp_dir().join(format!("taskyard-producers-{}.jsonl", std::process::id()));
    let line = |arg: u32| format!("{{\"task\":\"echo\",\"args\":[{arg}]}}\n");
    std::fs::write(&path, [line(1), "bad\n".into()].concat()).expect("written");
    let (news, mut told) = mpsc::channel(16);
    let mut lines = JsonLines::new(Source::File(path.clone()), news);
    let intake = Intake::new(yard, roster.enter(Kind::File, "lines"));
    soon(lines.run(&intake)).await.expect("read");
    std::fs::remove_file(&path).expect("removed");
    let gone = soon(lines.run(&intake)).await.expect_err("it is gone");
    assert!(gone.to_string().contains(path.to_str().expect("UTF-8")), "{gone}");
    std::fs::write(&path, [line(1), "bad\n".into(), line(3)].concat()).expect("written");
    soon(lines.run(&intake)).await.expect("read");
    std::fs::remove_file(&path).expect("removed");
    drop(lines);
    let (mut taken, mut bad) = (Vec::new(), Vec::new());
    while let Some(news) = soon(told.recv()).await {
        match news {
            LineNews::Taken { lines, .. } => taken.extend(lines.into_iter().map(|(line, ..)| line)),
            LineNews::Bad { line, .. } => bad.push(line),
            LineNews::NotTaken { error, .. } => panic!("{error}"),
        }
    }
    assert_eq!((taken, bad), (vec![1, 3], vec![2]), "each line once");
    let seen = roster.snapshots().remove(0);
    assert_eq!((seen.received, seen.rejected), (3, 1));
}

/// A yard on a store that fails as it is told, which hears of it soon.
fn on_faulty_store(toys: &Toys) -> (Yard, Faults) {
    let faults = Faults::default();
    let store = StoreChoice::shared(&Shared::default()).faulty(&faults);
    let impatient =
        conductor::Settings { submit_patience: Duration::from_millis(50), ..conductor::Settings::default() };
    let yard = Yard::builder().pool(pool(toys)).store(store).conductor(impatient).start().expect("starts");
    (yard, faults)
}

/// A submit would be refused; a file has nobody who could try again.
#[tokio::test]
async fn a_file_waits_for_a_store_that_fails_and_is_a_finished_run_then() {
    let (toys, roster) = (Toys::instant(1, vec![echo()]), Roster::default());
    let (yard, faults) = on_faulty_store(&toys);
    let path = std::env::temp_dir().join(format!("taskyard-faulty-{}.jsonl", std::process::id()));
    std::fs::write(&path, "{\"task\":\"echo\"}\n".repeat(3)).expect("written");
    let source = Source::File(path.clone());
    let run = soon(Run::open(&yard, &source)).await.expect("the store answers");
    faults.break_down(StoreError::Unavailable("made to fail".into()));
    let (news, mut told) = mpsc::channel(16);
    let mut lines = JsonLines::new(source.clone(), news).of_run(run);
    let intake = Intake::new(yard.clone(), roster.enter(Kind::File, "lines"));
    let reading = tokio::spawn(async move { lines.run(&intake).await });
    soon(async {
        while roster.snapshots()[0].state != State::Full {
            tokio::task::yield_now().await;
        }
    })
    .await;
    faults.mend();
    soon(reading).await.expect("no panic").expect("read");
    let mut ids = Vec::new();
    while let Some(news) = soon(told.recv()).await {
        let LineNews::Taken { lines, batches } = news else { panic!("{news:?}") };
        ids.extend(lines.into_iter().map(|(_, task, _)| task.id));
        for batch in batches {
            soon(batch.outcomes()).await.expect("up");
        }
    }
    assert_eq!(ids, [1, 2, 3].map(|line| run.id(line)));
    let next = soon(Run::open(&yard, &source)).await.expect("the store answers");
    assert_eq!((next.number(), next.is_resumed()), (2, false), "the first one is finished");
    std::fs::remove_file(&path).expect("removed");
}

#[tokio::test]
async fn a_run_that_was_not_read_to_its_end_is_gone_on_with() {
    let toys = Toys::instant(1, vec![echo()]);
    let yard = yard(&toys);
    let path = std::env::temp_dir().join(format!("taskyard-runs-{}.jsonl", std::process::id()));
    std::fs::write(&path, "{\"task\":\"echo\"}\n").expect("written");
    let source = Source::File(path.clone());
    let open = async || soon(Run::open(&yard, &source)).await.expect("up");
    let (first, again) = (open().await, open().await);
    assert_eq!((again.number(), again.is_resumed()), (1, true));
    assert_eq!((again.batch(), again.id(7)), (first.batch(), first.id(7)));
    std::fs::write(&path, "{\"task\":\"echo\"}\n\n").expect("written");
    let other = open().await;
    assert_eq!((other.number(), other.is_resumed()), (1, false), "another content");
    assert_ne!(other.id(7), first.id(7));
    std::fs::remove_file(&path).expect("removed");
}

/// What a page of status shows of a pool.
#[tokio::test]
async fn a_pool_says_how_it_is() {
    let toys = Toys::by_hand(1, vec![echo()]);
    let yard = yard(&toys);
    let handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");
    let seen = async |is_right: &dyn Fn(&PoolStatus) -> bool| {
        loop {
            let (name, pool) = yard.pools().await.expect("up").remove(0);
            if is_right(&pool) {
                return (name, pool);
            }
        }
    };
    soon(seen(&|pool| pool.workers.iter().any(|worker| worker.running == [handle.id()]))).await;
    yard.pause("all", true).expect("known");
    let (name, pool) = soon(seen(&|pool| pool.paused)).await;
    assert_eq!((name.as_str(), pool.max, pool.capacity, pool.learned), ("all", 1, 0, true));
    assert_eq!(yard.stages().running, 1);
    assert!(yard.now().mono.since(pool.at) < Duration::from_mins(1).as_micros() as i64);
}
