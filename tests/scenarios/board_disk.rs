//! Yards on a board in an SQLite file: what is there after a restart, what another yard sees, and what is wrong at a start.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use taskyard::context::Context;
use taskyard::core::TaskId;
use taskyard::core::board::Settings;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::dispatch::{Outcome, Trash};
use taskyard::core::store::{AttemptEnd, Filter, Refusal, RowState};
use taskyard::core::task::Due;
use taskyard::handler::HandlerError;
use taskyard::registry::Registry;
use taskyard::store::Durability;
use taskyard::{Builder, NotTaken, StartError, StoreChoice, Yard};

use crate::common::soon;
use crate::gate::Scratch;
use crate::rig::{
    at_once, built, eventually, inline, outcome, outcomes, read, submit, submit_all, task, value,
};

/// More than any of this takes.
const LONG: Duration = Duration::from_secs(20);

/// A folder with a board in it.
struct Disk(Scratch);

impl Disk {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("tasks.db")
    }

    fn builder(&self) -> Builder {
        Yard::builder().store(StoreChoice::sqlite(self.file()))
    }

    /// A yard whose task `t` gives back its arguments, or fails if the first is "fails".
    fn start(&self) -> Yard {
        self.builder().pool(inline("all", &["#"], registry(), 4)).start().expect("starts")
    }
}

fn registry() -> Registry {
    let handler = |args: Value, _: Value, _: Context| async move {
        if args[0] == "fails" { Err(HandlerError::new("as it was told")) } else { Ok(args[0].clone()) }
    };
    Registry::new().register_fn("t", handler).expect("one name")
}

async fn end(yard: Yard) {
    assert_eq!(soon(yard.drain()).await, Ok(Vec::new()), "nothing is lost");
    soon(yard.closed()).await;
}

async fn known(yard: &Yard, id: TaskId) -> Outcome {
    soon(yard.outcome(id)).await.expect("known")
}

/// R4, with two dispatchers: what counts are the patterns of all that are alive.
#[tokio::test]
async fn what_only_another_dispatcher_takes_is_refused_once_that_is_gone() {
    let disk = Disk::new();
    let start = |pattern: &str| {
        let board = Settings { reject_unroutable: true, ..Settings::default() };
        let pool = inline("all", &[pattern], registry(), 4);
        disk.builder().board(board).pool(pool).start().expect("starts")
    };
    let (web, nlp) = (start("web.#"), start("nlp.#"));
    let there = |value| built(task("t", value).namespace("nlp.x".parse().expect("valid")));
    // It has registered once it takes tasks.
    let own = soon(nlp.submit_task(there(0))).await.expect("taken");
    assert_eq!(value(own).await, 0);
    let first = soon(web.submit_task(there(1))).await.expect("the other takes it");
    assert_eq!(value(first).await, 1);
    end(nlp).await;
    let refused = soon(web.submit_task(there(2))).await.expect_err("nobody takes it");
    assert_eq!(refused.why, NotTaken::Refused(SubmitRefusal::Board(Refusal::Unroutable)));
}

/// What was parked is there after a restart, and how tasks ended is known.
#[tokio::test]
async fn a_restart_finds_what_was_parked_and_what_has_ended() {
    let disk = Disk::new();
    let first = disk.start();
    let far = submit(&first, task("t", "far").delay(Duration::from_hours(24 * 365))).await.id();
    let done = submit(&first, task("t", "done")).await;
    let done_id = done.id();
    assert_eq!(value(done).await, "done");
    end(first).await;
    let log = disk.file().with_extension("db-wal");
    assert!(!log.exists(), "the store was closed before the yard's end was told");

    let second = disk.start();
    let view = soon(second.get(far)).await.expect("answered").expect("known");
    assert_eq!((view.state, view.epoch, view.owner), (RowState::Parked, 0, None));
    assert_eq!(read(&known(&second, done_id).await), "done");
    soon(second.reschedule(far, Due::Now)).await.expect("moved");
    assert_eq!(read(&known(&second, far).await), "far");
    let (left, _) = soon(second.list(all(), 0, 10)).await.expect("listed");
    assert!(left.is_empty(), "{left:?}");
    end(second).await;
}

fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

/// Another yard on the same file learns how a task ends that it did not run.
#[tokio::test]
async fn an_outcome_is_told_to_a_yard_that_did_not_run_the_task() {
    let disk = Disk::new();
    let (runs, looks) = (disk.start(), disk.builder());
    let looks = looks.pool(inline("none", &["none"], registry(), 1)).start().expect("starts");
    let id = submit(&runs, task("t", 7).delay(Duration::from_millis(50))).await.id();
    assert_eq!(read(&known(&looks, id).await), 7);
    let owners = soon(looks.owners()).await.expect("listed");
    let pids: Vec<_> = owners.iter().map(|owner| owner.registration.pid).collect();
    assert_eq!(pids, [std::process::id(); 2]);
    assert!(owners.iter().all(|owner| !owner.registration.host.is_empty() && !owner.fenced));
}

/// B1, in small: two yards on one file.
#[tokio::test]
async fn two_yards_on_one_file_run_each_task_once() {
    let disk = Disk::new();
    let (a, b) = (disk.start(), disk.start());
    let (first, second) = (0..200, 200..400);
    let first = submit_all(&a, first.map(|number| task("t", number))).await;
    let second = submit_all(&b, second.map(|number| task("t", number))).await;
    assert_eq!(outcomes(first).await.iter().map(read).collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
    assert_eq!(outcomes(second).await.iter().map(read).collect::<Vec<_>>(), (200..400).collect::<Vec<_>>());
    let totals = [soon(a.totals()).await.expect("counted"), soon(b.totals()).await.expect("counted")];
    assert_eq!(totals[0].succeeded + totals[1].succeeded, 400, "{totals:?}");
}

/// B11, B12: what a stop gives back is there for the next yard.
#[tokio::test]
async fn what_a_stop_gives_back_is_run_by_the_next_yard() {
    let disk = Disk::new();
    let waits = |_: Value, _: Value, cx: Context| async move {
        cx.cancelled().await;
        Err::<(), _>(HandlerError::cancelled())
    };
    let registry = Registry::new().register_fn("t", waits).expect("one name");
    let mut pool = inline("all", &["#"], registry, 4);
    pool.settings.kill_after = Duration::from_millis(50);
    let first = disk.builder().pool(pool).start().expect("starts");
    let id = submit(&first, task("t", 5)).await.id();
    eventually("it runs", async || !first.running().is_empty()).await;
    assert!(!soon(first.wait(Duration::from_millis(1))).await);
    first.stop(Duration::ZERO);
    assert!(soon(first.wait(LONG)).await);
    let second = disk.start();
    assert_eq!(read(&known(&second, id).await), 5);
    let view = soon(second.get(id)).await.expect("answered").expect("known");
    assert_eq!((view.epoch, view.attempts), (2, 0), "what was given back did not count");
}

/// B13.
#[tokio::test]
async fn a_bounded_yard_leaves_the_rest_on_the_board() {
    let disk = Disk::new();
    for max in [0, 1, 5] {
        let yard = disk.builder().max_dispatches(max).pool(inline("all", &["#"], registry(), 2));
        let idle = disk.builder().pool(inline("all", &["#"], Registry::new(), 2)).start().expect("starts");
        let before = soon(idle.counts()).await.expect("counted");
        let tasks = (0..10).map(|number| built(task("t", number))).collect();
        assert!(soon(idle.post_tasks(tasks)).await.iter().all(Result::is_ok));
        assert!(soon(yard.start().expect("starts").wait(LONG)).await);
        let after = soon(idle.counts()).await.expect("counted");
        assert_eq!(after.ready, before.ready + 10 - max as usize);
        soon(idle.cancel(all())).await.expect("cancelled");
        end(idle).await;
    }
}

#[tokio::test]
async fn the_trash_is_listed_shown_posted_again_and_forgotten() {
    let disk = Disk::new();
    let yard = disk.start();
    let failed = submit(&yard, task("t", "fails").retry(at_once(2))).await;
    let id = failed.id();
    let ended = outcome(failed).await;
    assert!(matches!(ended, Outcome::Trashed(Trash::Exhausted { attempts: 2, .. })), "{ended:?}");
    end(yard).await;

    let yard = disk.start();
    let (trash, more) = soon(yard.trash(all(), 0, 10)).await.expect("listed");
    assert_eq!((trash.len(), trash[0].id, more), (1, id, None));
    let shown = soon(yard.get(id)).await.expect("answered").expect("known");
    let log: Vec<_> = shown.log.iter().map(|record| (record.epoch, &record.end)).collect();
    assert!(matches!(log[..], [(1, AttemptEnd::Failed(_)), (2, _)]), "{log:?}");
    assert_eq!(soon(yard.requeue(Filter::ids([id]))).await, Ok(1));
    assert_eq!(known(&yard, id).await, ended, "it fails again, after as many attempts");
    assert_eq!(soon(yard.purge(all())).await, Ok(1));
    let (trash, _) = soon(yard.trash(all(), 0, 10)).await.expect("listed");
    assert!(trash.is_empty(), "{trash:?}");
}

#[tokio::test]
async fn a_value_that_is_too_large_to_keep_is_given_to_who_waits_and_then_gone() {
    let disk = Disk::new();
    let store = StoreChoice::sqlite(disk.file()).durability(Durability::Normal).result_max(10);
    let pool = inline("all", &["#"], registry(), 1);
    let yard = Yard::builder().store(store).pool(pool).start().expect("starts");
    let large = submit(&yard, task("t", "more than ten bytes")).await;
    let id = large.id();
    assert_eq!(value(large).await, "more than ten bytes");
    assert_eq!(known(&yard, id).await, Outcome::ValueGone);
}

#[test]
fn what_is_no_board_is_refused_at_the_start() {
    let disk = Disk::new();
    std::fs::write(disk.file(), "no database, but long enough to be taken for one".repeat(100))
        .expect("written");
    let start = |store| Yard::builder().store(store).pool(inline("all", &["#"], registry(), 1)).start();
    let refused = start(StoreChoice::sqlite(disk.file())).expect_err("no board");
    let said = refused.to_string();
    assert!(matches!(refused, StartError::Store { .. }) && said.contains("tasks.db"), "{said}");
    let nowhere = start(StoreChoice::sqlite(disk.0.path().join("no/such/folder/tasks.db")));
    assert!(matches!(nowhere, Err(StartError::Store { .. })), "{nowhere:?}");
    let hasty = start(StoreChoice::sqlite("tasks.db").lease(Duration::from_millis(10)));
    let said = hasty.expect_err("no lease").to_string();
    assert_eq!(said, "store.lease: must be from 2 s to 3600 s");
}
