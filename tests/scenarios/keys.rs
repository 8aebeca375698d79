//! What keys cost: a task with a key costs the same however many others are held.

use std::time::Instant;

use taskyard::core::board;
use taskyard::core::task::KeyLimits;
use taskyard::registry::Registry;
use taskyard::{StoreChoice, Yard};

use crate::common::soon;
use crate::rig::{OnDisk, built, inline, task};

/// How much dearer a task may be among a hundred thousand than among five thousand. A scan of what is held would make it
/// twenty times as dear.
const RATIO: f64 = 4.0;

/// The time per task from the submit of `held` serial tasks to the end of the first `ended` of them.
async fn cost(store: StoreChoice, held: usize, ended: usize, key: impl Fn(usize) -> String) -> f64 {
    let registry = Registry::new().register_fn("t", |_, _, _| async { Ok(()) }).expect("one name");
    let board = board::Settings { board_max: 200_000, ..board::Settings::default() };
    let pool = inline("all", &["#"], registry, 64);
    let yard = Yard::builder().store(store).board(board).pool(pool).start().expect("starts");
    let serial = |n| built(task("t", n).key(key(n)).on_duplicate(KeyLimits::SERIAL));
    let tasks: Vec<_> = (0..held).map(serial).collect();

    let begun = Instant::now();
    let mut batch = soon(yard.submit_tasks(tasks)).await.batch;
    let posted = begun.elapsed().as_secs_f64();
    assert_eq!(batch.ids().len(), held);
    let begun = Instant::now();
    for _ in 0..ended {
        soon(batch.next()).await.expect("up").expect("one more");
    }
    posted / held as f64 + begun.elapsed().as_secs_f64() / ended as f64
}

fn check(few: f64, many: f64) {
    println!("{:.1} us a task among few, {:.1} us among twenty times as many", few * 1e6, many * 1e6);
    assert!(many < few * RATIO, "{:.1} us a task, then {:.1} us", few * 1e6, many * 1e6);
}

/// P27: all of them run.
#[tokio::test]
async fn a_hundred_thousand_keys_do_not_make_a_task_dearer() {
    let key = |n: usize| n.to_string();
    let few = cost(StoreChoice::memory(), 5_000, 5_000, key).await;
    check(few, cost(StoreChoice::memory(), 100_000, 100_000, key).await);
}

/// P27, on a board on disk, with a fifth of the tasks: the ratio is the same.
#[tokio::test]
async fn many_keys_on_disk_do_not_make_a_task_dearer() {
    let (disk, key) = (OnDisk::new(), |n: usize| n.to_string());
    let few = cost(disk.store("few.db"), 1_000, 1_000, key).await;
    check(few, cost(disk.store("many.db"), 20_000, 20_000, key).await);
}

/// P27, on a board on disk, with a fifth of the tasks: the ratio is the same.
#[tokio::test]
async fn many_twins_on_disk_do_not_make_a_task_dearer() {
    let (disk, key) = (OnDisk::new(), |_| "one".into());
    let few = cost(disk.store("few.db"), 1_000, 1_000, key).await;
    check(few, cost(disk.store("many.db"), 20_000, 1_000, key).await);
}

/// P27: five thousand of them run, one by one, while the others are held.
#[tokio::test]
async fn a_hundred_thousand_twins_do_not_make_a_task_dearer() {
    let key = |_| "one".into();
    let few = cost(StoreChoice::memory(), 5_000, 5_000, key).await;
    check(few, cost(StoreChoice::memory(), 100_000, 5_000, key).await);
}
