//! Many parked tasks on a board on disk: what comes of them once they are due, and what they cost until then.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard::core::defaults::MESSAGE_MAX;
use taskyard::core::dispatch::{Outcome, TaskError};
use taskyard::core::store::{Counts, Filter, RowState};
use taskyard::core::task::{Priority, Retry};
use taskyard::core::worker::WorkerEnd;
use taskyard::core::{TaskId, conductor};
use taskyard::registry::{RESULT_MAX, Registry};
use taskyard::testing::{Shared, TestYard, Toys};
use taskyard::{Builder, NotTaken, StoreChoice, Yard};

use crate::common::soon;
use crate::delays::{MIDNIGHT, by_hand};
use crate::os::resident;
use crate::rig::{OnDisk, alone, built, inline, outcomes, submit, submit_all, task};

/// Ends what runs, `slots` at a time, which must be the next ones each time; says how many tasks were in the yard at most.
async fn run_off(test: &TestYard, toys: &Toys, in_order: &[TaskId], slots: usize) -> usize {
    let in_yard = || {
        let stages = test.yard().stages();
        stages.delayed + stages.blocked + stages.queued + stages.running
    };
    let mut most = 0;
    for (round, next) in in_order.chunks(slots).enumerate() {
        let (running, mut next) = (toys.running(), next.to_vec());
        next.sort_unstable();
        assert_eq!(running, next, "in round {round}");
        for id in next {
            most = most.max(in_yard());
            toys.finish(id, WorkerEnd::Succeeded("null".into()));
        }
        soon(test.quiet()).await;
    }
    assert_eq!((toys.running(), in_yard()), (vec![], 0), "each runs once");
    most
}

/// By rank, so that an urgent task goes before what was due less than four minutes before it, and a usual one last. Seen: the
/// second thousand ran before the first, and was in the yard beyond the slots.
async fn overdue_tasks_go_in_order(store: StoreChoice) {
    const TASKS: u64 = 3_000;
    const SLOTS: u32 = 50;
    let open = || Yard::builder().store(store.clone());
    let due = |n: u64| MIDNIGHT + Duration::from_mins(1) + Duration::from_secs(n);
    let (before, _) = by_hand(open(), MIDNIGHT, 1, SLOTS).await;
    // 7 and 3000 share no factor, so each number comes once, in disorder.
    let order = (0..TASKS).map(|n| n * 7 % TASKS);
    let parked = submit_all(before.yard(), order.clone().map(|n| task("t", n).eta(due(n)))).await;
    let mut by_due: Vec<_> = order.zip(parked.ids().iter().copied()).collect();
    by_due.sort_unstable();
    let mut by_rank: Vec<_> = by_due.into_iter().map(|(_, id)| id).collect();
    soon(before.drain()).await;
    drop(before);

    let now = due(TASKS - 1) + Duration::from_millis(500);
    let (test, toys) = by_hand(open(), now, 1, SLOTS).await;
    let urgent = task("t", "urgent").priority(Priority::new(Priority::MAX).expect("the highest"));
    let urgent = submit(test.yard(), urgent).await.id();
    let usual = submit(test.yard(), task("t", "usual")).await.id();
    by_rank.insert(TASKS as usize - 240, urgent);
    by_rank.push(usual);

    let most = run_off(&test, &toys, &by_rank, SLOTS as usize).await;
    // What is claimed ahead is at most what ends during a claim.
    assert!(most <= 2 * SLOTS as usize, "{most} in the yard");
    assert_eq!(soon(test.yard().totals()).await.expect("counted").succeeded, TASKS + 2);
    assert_eq!(soon(test.yard().counts()).await, Ok(Counts::default()), "none is left");
}

/// D4.
#[tokio::test]
async fn what_fell_due_while_no_yard_ran_goes_oldest_first_and_new_tasks_at_their_turn() {
    let disk = OnDisk::new();
    overdue_tasks_go_in_order(disk.store("tasks.db")).await;
}

/// D4, in memory that outlives the yard.
#[tokio::test]
async fn what_fell_due_in_memory_while_no_yard_ran_goes_oldest_first() {
    overdue_tasks_go_in_order(StoreChoice::shared(&Shared::default())).await;
}

/// D10.
#[tokio::test]
async fn a_thousand_with_one_due_time_run_four_at_a_time_and_each_once() {
    let disk = OnDisk::new();
    let (test, toys) = by_hand(Yard::builder().store(disk.store("tasks.db")), MIDNIGHT, 4, 1).await;
    let (hour, moment) = (Duration::from_hours(1), Duration::from_micros(1));
    let due = MIDNIGHT + hour + moment;
    let batch = submit_all(test.yard(), (0..1_000).map(|n| task("t", n).eta(due))).await;
    soon(test.advance(hour)).await;
    assert!(toys.running().is_empty(), "none is due");
    soon(test.advance(moment)).await;
    run_off(&test, &toys, batch.ids(), 4).await;
    assert_eq!(outcomes(batch).await.len(), 1_000);
}

/// D17, across a restart.
#[tokio::test]
async fn a_retry_that_is_far_off_waits_in_the_basket_across_a_restart() {
    let disk = OnDisk::new();
    let open = || Yard::builder().store(disk.store("tasks.db"));
    let (hour, moment) = (Duration::from_hours(1), Duration::from_micros(1));
    let retry = Retry { max_attempts: 5, initial: 2 * hour, factor: 2.0, max: YEAR, jitter: 0.0 };
    let urgent = Priority::new(8).expect("0 to 9");
    let new = task("t", json!({"deep": [1, 2]})).retry(retry).priority(urgent).expires_in(24 * hour);

    let (test, toys) = by_hand(open(), MIDNIGHT, 1, 1).await;
    let id = submit(test.yard(), new).await.id();
    soon(test.quiet()).await;
    let begun = soon(test.yard().get(id)).await.expect("answered").and_then(|view| view.task).expect("runs");
    toys.finish(id, failed());
    soon(test.quiet()).await;
    let stages = test.yard().stages();
    assert_eq!((stages.delayed, toys.running()), (0, vec![]), "the yard does not hold it");
    soon(test.drain()).await;
    drop(test);

    let (test, toys) = by_hand(open(), MIDNIGHT + hour, 1, 1).await;
    let parked = soon(test.yard().get(id)).await.expect("answered").expect("kept");
    assert_eq!((parked.state, parked.attempts), (RowState::Parked, 1));
    assert_eq!(parked.due, Some(MIDNIGHT + 2 * hour));
    let task = parked.task.expect("not ended");
    assert_eq!((task.body.text(), task.priority), (begun.body.text(), urgent));
    soon(test.advance(hour.saturating_sub(moment))).await;
    assert!(toys.running().is_empty(), "not early");
    soon(test.advance(moment)).await;
    assert_eq!(toys.running(), [id]);
    toys.finish(id, failed());
    soon(test.quiet()).await;
    let again = soon(test.yard().get(id)).await.expect("answered").expect("kept");
    assert_eq!((again.due, again.attempts), (Some(MIDNIGHT + 6 * hour), 2), "the pauses go on growing");
    soon(test.advance(22 * hour)).await;
    assert!(matches!(soon(test.yard().outcome(id)).await, Ok(Outcome::Expired)), "it expires as it was to");
}

fn failed() -> WorkerEnd {
    let (kind, message) = ("Flaky".into(), "not today".into());
    WorkerEnd::Failed(Box::new(TaskError { kind, message, trace: None, retry: true }))
}

const YEAR: Duration = Duration::from_hours(24 * 365);

/// Parks so many, some at a time.
async fn park(yard: &Yard, tasks: usize) {
    for from in (0..tasks).step_by(1_000) {
        let tasks = (from..tasks.min(from + 1_000)).map(|n| built(task("t", n).delay(YEAR))).collect();
        assert!(soon(yard.post_tasks(tasks)).await.iter().all(Result::is_ok));
    }
}

/// How much longer something may take beside many others, or large ones, that have nothing to do with it.
const RATIO: u32 = 2;

/// Does the same in two yards by turns, so that the machine is as busy for the one as for the other; the second may not take
/// much longer, by the middle one of its times.
async fn takes_no_longer(yards: [&(TestYard, Toys); 2], mut act: impl AsyncFnMut(usize, &TestYard, &Toys)) {
    let mut took = [const { Vec::new() }; 2];
    for number in 0..50 {
        for (took, (test, toys)) in took.iter_mut().zip(yards) {
            let begun = Instant::now();
            act(number, test, toys).await;
            took.push(begun.elapsed());
            let [id] = toys.running()[..] else { panic!("one runs") };
            toys.finish(id, WorkerEnd::Succeeded("null".into()));
            soon(test.quiet()).await;
        }
    }
    let [first, second] = took.map(|mut took| {
        took.sort_unstable();
        took[took.len() / 2]
    });
    assert!(second < first * RATIO, "{first:?}, and {second:?} in the other yard");
}

/// D10: it starts at once however many are parked. They do not count among those in the yard, of which there may be few.
#[tokio::test]
async fn many_far_off_tasks_do_not_hold_an_immediate_one_up() {
    let disks = [OnDisk::new(), OnDisk::new()];
    let few_live = conductor::Settings { live_max: 10, ..conductor::Settings::default() };
    let open = |disk: &OnDisk| {
        let builder = Yard::builder().store(disk.store("tasks.db")).conductor(few_live.clone());
        by_hand(builder, MIDNIGHT, 1, 4)
    };
    let (few, many) = (open(&disks[0]).await, open(&disks[1]).await);
    park(few.0.yard(), 500).await;
    park(many.0.yard(), 20_000).await;
    takes_no_longer([&few, &many], async |number, test, toys| {
        let id = submit(test.yard(), task("t", number)).await.id();
        soon(toys.started(id)).await;
    })
    .await;
    let all = Filter { all: true, ..Filter::default() };
    assert_eq!(soon(many.0.yard().counts_of(all)).await.expect("counted").parked, 20_000);
}

/// D11: eighty bytes for each would be more. First come so many large ones that SQLite holds as much of the file as it may.
#[test]
fn resident_memory_does_not_follow_what_is_parked() {
    alone("basket_disk::resident_memory_does_not_follow_what_is_parked", async {
        let disk = OnDisk::new();
        let (test, _) = by_hand(Yard::builder().store(disk.store("tasks.db")), MIDNIGHT, 1, 4).await;
        for _ in 0..1_000 {
            submit(test.yard(), task("t", "x".repeat(20_000)).delay(YEAR)).await;
        }
        let few = resident();
        park(test.yard(), 49_000).await;
        let many = resident();
        assert_eq!(soon(test.yard().counts()).await.expect("counted").parked, 50_000);
        assert!(many < few + (4 << 20), "{few} bytes with a thousand, {many} with fifty thousand");
    });
}

/// A yard in which nothing is near: all that is not due at once goes by way of the file.
fn on_disk(disk: &OnDisk) -> Builder {
    let settings = conductor::Settings { horizon: Duration::ZERO, ..conductor::Settings::default() };
    Yard::builder().store(disk.store("tasks.db")).conductor(settings)
}

/// What it was given.
fn echoes() -> Registry {
    let echo = |args: Value, kwargs: Value, _| async move { Ok(json!([args, kwargs])) };
    Registry::new().register_fn("t", echo).expect("one name")
}

/// D15: as it came, and once, by way of the basket.
#[tokio::test]
async fn bodies_of_all_sizes_come_out_of_the_basket_as_they_went_in() {
    let disk = OnDisk::new();
    let yard = on_disk(&disk).pool(inline("all", &["#"], echoes(), 4)).start().expect("starts");
    let longest = "x".repeat(RESULT_MAX.min(MESSAGE_MAX) - 100);
    for (sent, given) in [
        (String::new(), json!([[], {}])),
        (r#","args":[]"#.into(), json!([[], {}])),
        (r#","args":[""]"#.into(), json!([[""], {}])),
        (r#","kwargs":{"":"\u0000😀"}"#.into(), json!([[], {"": "\0😀"}])),
        (format!(r#","args":["{longest}"]"#), json!([[longest], {}])),
    ] {
        let text = format!(r#"{{"task":"t","delay":0.01{sent}}}"#);
        let mut handle = soon(yard.submit_json(&text)).await.expect("taken");
        assert_eq!(soon(handle.outcome()).await.expect("succeeds"), given);
    }
}

/// D15: over the limit by one byte.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_its_size_and_nothing_is_stored() {
    let disk = OnDisk::new();
    let yard = on_disk(&disk).pool(inline("all", &["#"], echoes(), 4)).start().expect("starts");
    let around = r#"{"task":"t","delay":600,"args":[""]}"#.len();
    let text =
        |bytes: usize| format!(r#"{{"task":"t","delay":600,"args":["{}"]}}"#, "x".repeat(bytes - around));
    let refused = soon(yard.submit_json(&text(MESSAGE_MAX + 1))).await.expect_err("too long");
    assert!(matches!(refused, NotTaken::NoTask(_)) && refused.to_string().contains("1048576"), "{refused}");
    let left = async |yard: &Yard| {
        let all = Filter { all: true, ..Filter::default() };
        soon(yard.list(all, 0, 10)).await.expect("listed").0.len()
    };
    assert_eq!(left(&yard).await, 0);
    soon(yard.submit_json(&text(MESSAGE_MAX))).await.expect("as long as it may be");
    soon(yard.drain()).await.expect("drained");
    soon(yard.closed()).await;
    let yard = on_disk(&disk).pool(inline("all", &["#"], echoes(), 4)).start().expect("starts");
    assert_eq!(left(&yard).await, 1, "in the file is the one that was taken");
}

/// D15: ten of nearly the largest, due after all small ones.
#[tokio::test]
async fn large_bodies_in_the_basket_do_not_hold_small_ones_up() {
    let disks = [OnDisk::new(), OnDisk::new()];
    let small = by_hand(on_disk(&disks[0]), MIDNIGHT, 1, 4).await;
    let beside = by_hand(on_disk(&disks[1]), MIDNIGHT, 1, 4).await;
    for n in 0..10 {
        let large = task("t", "x".repeat(MESSAGE_MAX - 1_000)).eta(MIDNIGHT + Duration::from_mins(10 + n));
        submit(beside.0.yard(), large).await;
    }
    for (test, _) in [&small, &beside] {
        let due = |n| MIDNIGHT + Duration::from_secs(n + 1);
        submit_all(test.yard(), (0..50_u64).map(|n| task("t", n).eta(due(n)))).await;
    }
    takes_no_longer([&small, &beside], async |_, test, _| soon(test.advance(Duration::from_secs(1))).await)
        .await;
}
