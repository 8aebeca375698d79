//! Which pool runs what, and in which order.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard::Yard;
use taskyard::core::board;
use taskyard::core::dispatch::Failure;
use taskyard::core::new_task::NewTask;
use taskyard::core::pool::Settings;
use taskyard::core::store::{Counts, RowState};
use taskyard::core::task::Priority;

use crate::common::soon;
use crate::gate::{Gate, Guest};
use crate::rig::{
    at_once, bare, failed, outcome, processes, sized, start, submit, submit_all, task, value, values,
};

fn within(task: NewTask, namespace: &str) -> NewTask {
    task.namespace(namespace.parse().expect("valid"))
}

fn urgent(task: NewTask, priority: u8) -> NewTask {
    task.priority(Priority::new(priority).expect("0 to 9"))
}

/// One slot, which a first task holds: nobody else starts before it is let go. Nothing is sent ahead of its turn, which
/// would fix the order of quick tasks some time before they start.
async fn one_slot(gate: &Gate, aging: Duration) -> (Yard, Guest) {
    let board = board::Settings { aging, ..board::Settings::default() };
    let settings = Settings { send_ahead: false, ..sized(1, 1) };
    let pool = processes(gate.path(), "one", &["#"], settings);
    let yard = Yard::builder().board(board).pool(pool).start().expect("starts");
    submit(&yard, task("meet", "first")).await;
    let first = gate.next().await;
    (yard, first)
}

/// R2.
#[tokio::test]
async fn each_pool_runs_only_its_own_and_nothing_twice() {
    let gate = Gate::open();
    let pool = |name, pattern| processes(gate.path(), name, &[pattern], sized(0, 2));
    let yard = start([pool("nlp", "datashare.nlp.#"), pool("index", "datashare.index.#")]);
    let of = |n: usize| ["datashare.nlp.java", "datashare.index.copy"][n % 2];

    let batch = submit_all(&yard, (0..100).map(|n| within(task("place", n), of(n)))).await;

    for (n, place) in values(batch).await.into_iter().enumerate() {
        assert_eq!(place, json!((["nlp", "index"][n % 2], of(n))));
    }
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()), "no dead letters");
}

/// R3: zero or more words, exactly one word, and another word.
#[tokio::test]
async fn a_bare_prefix_belongs_to_its_tail_alone() {
    let gate = Gate::open();
    let pool = |name, pattern| processes(gate.path(), name, &[pattern], sized(0, 1));
    let yard = start([pool("star", "datashare.nlp.*"), pool("tail", "datashare.nlp.#")]);

    let taken = submit_all(&yard, (0..20).map(|n| within(task("place", n), "datashare.nlp"))).await;
    let foreign = submit(&yard, within(task("place", 0), "datashare.nlpx")).await;

    for place in values(taken).await {
        assert_eq!(place, json!(["tail", "datashare.nlp"]));
    }
    let view = soon(yard.get(foreign.id())).await.expect("answered").expect("kept");
    assert!(view.unroutable, "{view:?}");
}

/// R5: each holds one task, so that the one is full whenever the other takes something. Nothing is sent ahead: what is, waits
/// a while for its worker even if another pool has room.
#[tokio::test]
async fn two_pools_share_what_both_take() {
    let gate = Gate::open();
    let settings = || Settings { send_ahead: false, ..sized(0, 1) };
    let pool = |name, pattern| processes(gate.path(), name, &[pattern], settings());
    let yard = start([pool("general", "datashare.#"), pool("nlp", "datashare.nlp.#")]);
    let batch = submit_all(&yard, (0..200).map(|n| within(task("meet", n), "datashare.nlp.x"))).await;

    let mut running = VecDeque::from(gate.next_few(2).await);
    let pids: BTreeSet<_> = running.iter().map(|guest| guest.pid).collect();
    assert_eq!(pids.len(), 2);
    let mut runs = Vec::new();
    while let Some(guest) = running.pop_front() {
        assert!(pids.contains(&guest.pid));
        runs.push(guest.tag.as_u64().expect("a number"));
        guest.release();
        if runs.len() + running.len() < 200 {
            running.push_back(gate.next().await);
        }
    }

    runs.sort_unstable();
    assert!(runs.into_iter().eq(0..200), "each runs exactly once");
    assert_eq!(values(batch).await.len(), 200);
}

/// R6: also after a retry.
#[tokio::test]
async fn one_name_in_two_pools_runs_where_its_namespace_says() {
    let gate = Gate::open();
    let pool = |name, pattern| processes(gate.path(), name, &[pattern], sized(1, 1));
    let yard = start([pool("java", "nlp.java.#"), pool("python", "nlp.python.#")]);

    let tasks = (0..20).map(|n| within(task("second_try", n), "nlp.python").retry(at_once(2)));
    let batch = submit_all(&yard, tasks).await;

    assert_eq!(values(batch).await, vec![json!(["python", 2]); 20]);
}

/// R8: within one step of aging, and strictly by priority.
#[tokio::test]
async fn the_urgent_are_next_and_alike_keep_their_order() {
    for aging in [Duration::from_mins(1), Duration::ZERO] {
        let gate = Gate::open();
        let (yard, first) = one_slot(&gate, aging).await;
        let low = submit_all(&yard, (0..20).map(|n| urgent(task("meet", n), 1))).await;
        let high = submit_all(&yard, (100..105).map(|n| urgent(task("meet", n), 2))).await;

        first.release();

        for expected in (100..105).chain(0..20) {
            let guest = gate.next().await;
            assert_eq!(guest.tag, expected);
            guest.release();
        }
        assert_eq!((values(low).await.len(), values(high).await.len()), (20, 5));
    }
}

/// Urgent tasks, of which there is always one more; their arguments count them.
struct Flow {
    yard: Yard,
    posted: Vec<Instant>,
}

impl Flow {
    async fn post(&mut self) {
        let number = self.posted.len();
        self.posted.push(Instant::now());
        submit(&self.yard, urgent(task("meet", number), 9)).await;
    }
}

/// R9: a task waits behind at most what arrived within 9 × aging after it.
#[tokio::test]
async fn a_flow_of_urgent_tasks_holds_the_others_up_for_nine_steps_of_aging() {
    let aging = Duration::from_millis(50);
    let gate = Gate::open();
    let (yard, mut running) = one_slot(&gate, aging).await;
    submit_all(&yard, (0..10).map(|_| urgent(task("meet", "low"), 0))).await;
    let bound = Instant::now() + 9 * aging;
    let mut flow = Flow { yard, posted: Vec::new() };
    for _ in 0..5 {
        flow.post().await;
    }

    let (mut waiting, mut overtook) = (10, 0);
    while waiting > 0 {
        assert!(Instant::now() < bound + Duration::from_secs(5), "{waiting} starve");
        flow.post().await;
        running.release();
        running = gate.next().await;
        match running.tag.as_u64() {
            None => waiting -= 1,
            Some(number) => {
                overtook += 1;
                assert!(flow.posted[number as usize] <= bound, "number {number} came too late for that");
            }
        }
    }

    assert!(overtook > 5, "the urgent ones go first for a while");
}

/// R13: known from the start, so that no pool takes it.
#[tokio::test]
async fn a_name_that_no_worker_knows_waits_and_is_shown_as_unroutable() {
    let gate = Gate::open();
    let yard = start([processes(gate.path(), "all", &["#"], sized(1, 1))]);
    let handle = submit(&yard, bare("nobody.knows")).await;
    value(submit(&yard, task("echo", 1)).await).await;

    let view = soon(yard.get(handle.id())).await.expect("answered").expect("kept");
    assert!(view.unroutable && view.attempts == 0 && view.epoch == 0, "{view:?}");
}

/// R13: known only to the worker, which was promised to know it: one delivery, which fails for good.
#[tokio::test]
async fn a_name_that_a_worker_does_not_know_fails_once() {
    let gate = Gate::open();
    let names = ["echo", "nobody.knows"].map(|name| name.parse().expect("valid"));
    let settings = Settings { names: Some(names.into()), ..sized(1, 1) };
    let yard = start([processes(gate.path(), "all", &["#"], settings)]);
    let handle = submit(&yard, bare("nobody.knows").retry(at_once(5))).await;
    let id = handle.id();

    let (attempts, Failure::Error(error)) = failed(outcome(handle).await) else { panic!("no error") };
    assert_eq!((attempts, &*error.kind), (1, "unknown_task"));
    let view = soon(yard.get(id)).await.expect("answered").expect("kept");
    assert_eq!((view.state, view.attempts, view.epoch), (RowState::Ended, 1, 1), "one delivery");
    assert_eq!(value(submit(&yard, task("echo", 1)).await).await, 1);
}

/// R18.
#[tokio::test]
async fn a_task_without_a_namespace_is_routed_by_its_name() {
    let gate = Gate::open();
    let pool = |name, pattern| processes(gate.path(), name, &[pattern], sized(0, 1));
    let yard = start([pool("nlp", "datashare.nlp.#"), pool("index", "datashare.index.#")]);

    let nowhere = submit(&yard, bare("place")).await;
    let place = value(submit(&yard, bare("datashare.index.copy")).await).await;

    assert_eq!(place, json!(["index", "datashare.index.copy"]));
    let view = soon(yard.get(nowhere.id())).await.expect("answered").expect("kept");
    assert!(view.unroutable && view.lane.namespace.as_str() == "place", "{view:?}");
}
