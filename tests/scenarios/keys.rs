//! What keys cost: a task with a key costs the same however many others are held.

use std::time::Instant;

use taskyard::Yard;
use taskyard::core::board;
use taskyard::core::task::KeyLimits;
use taskyard::registry::Registry;

use crate::common::soon;
use crate::rig::{built, inline, task};

/// How much dearer a task may be among a hundred thousand than among five thousand. A scan of what is held would make it
/// twenty times as dear.
const RATIO: f64 = 4.0;

/// The time per task from the submit of `held` serial tasks to the end of the first `ended` of them.
async fn cost(held: usize, ended: usize, key: impl Fn(usize) -> String) -> f64 {
    let registry = Registry::new().register_fn("t", |_, _, _| async { Ok(()) }).expect("one name");
    let board = board::Settings { board_max: 200_000, ..board::Settings::default() };
    let yard =
        Yard::builder().board(board).pool(inline("all", &["#"], registry, 64)).start().expect("starts");
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
    println!("{:.1} us a task among 5 000, {:.1} us among 100 000", few * 1e6, many * 1e6);
    assert!(many < few * RATIO, "{:.1} us among 5 000, {:.1} us among 100 000", few * 1e6, many * 1e6);
}

/// P27: all of them run.
#[tokio::test]
async fn a_hundred_thousand_keys_do_not_make_a_task_dearer() {
    let key = |n: usize| n.to_string();
    let few = cost(5_000, 5_000, key).await;
    check(few, cost(100_000, 100_000, key).await);
}

/// P27: five thousand of them run, one by one, while the others are held.
#[tokio::test]
async fn a_hundred_thousand_twins_do_not_make_a_task_dearer() {
    let key = |_| "one".into();
    let few = cost(5_000, 5_000, key).await;
    check(few, cost(100_000, 5_000, key).await);
}
