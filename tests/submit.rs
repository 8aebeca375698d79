//! Typed submits: what comes back, how it ends, and what is refused with the task in hand.

mod common;

use std::time::Duration;

use common::handlers::{Echo, Fail, Hang, News, attempts, registry};
use common::soon;
use serde_json::{Map, Value, json};
use taskyard::config::{Handlers, Settings};
use taskyard::core::board;
use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::store::Refusal;
use taskyard::core::task::{KeyLimits, Retry};
use taskyard::registry::Registry;
use taskyard::{AskError, Builder, Draft, NotTaken, Pool, StartError, TaskFailed, Yard};

fn yard() -> Yard {
    Yard::builder()
        .registry(registry())
        .pool(Pool::inline("all").pattern("#"))
        .observed()
        .start()
        .expect("starts")
}

fn echo(text: &str) -> Echo {
    Echo(text.into())
}

fn later(text: &str) -> Draft<Echo> {
    Draft::new(echo(text)).delay(Duration::from_hours(1))
}

#[tokio::test]
async fn a_full_yard_gives_the_payload_back() {
    let board = board::Settings { board_max: 1, ..board::Settings::default() };
    let builder = Yard::builder().board(board).registry(registry());
    let yard = builder.pool(Pool::inline("all").pattern("#")).start().expect("starts");
    let first = soon(yard.submit(later("first"))).await.expect("taken");

    let refused = soon(yard.submit(later("second"))).await.expect_err("full");
    assert_eq!(refused.why, NotTaken::Refused(SubmitRefusal::Board(Refusal::Full)));
    assert!(refused.why.is_temporary());
    assert_eq!(refused.task.payload(), &echo("second"));

    soon(first.cancel()).await.expect("cancelled");
    soon(yard.submit(refused.task)).await.expect("taken now");
}

#[tokio::test]
async fn a_task_that_makes_no_sense_is_refused_by_field() {
    let yard = yard();
    let refused = soon(yard.submit(echo("x")).namespace("a b")).await.expect_err("no namespace");
    assert!(refused.to_string().contains("`namespace`"), "{refused}");
    assert!(!refused.why.is_temporary());
    assert_eq!(refused.task.into_payload(), echo("x"));
    let refused = soon(yard.submit_json(r#"{"task":"a","delay":"soon"}"#)).await.expect_err("no delay");
    assert!(refused.to_string().contains("`delay`"), "{refused}");
}

#[tokio::test]
async fn a_yard_that_is_down_gives_the_payload_back() {
    let yard = yard();
    soon(yard.drain()).await.expect("drained");
    soon(yard.closed()).await;
    let refused = soon(yard.submit(echo("x"))).await.expect_err("down");
    assert!(matches!(refused.why, NotTaken::Unanswered(AskError::Down(_))), "{refused}");
    let many = soon(yard.submit_many([echo("x"), echo("y")])).await;
    let given_back: Vec<_> = many.refused.into_iter().map(|refused| refused.task.into_payload()).collect();
    assert_eq!(given_back, [echo("x"), echo("y")]);
}

#[tokio::test]
async fn many_are_taken_in_together_and_each_ends_with_its_value() {
    let yard = yard();
    let mut many = soon(yard.submit_many((0..100).map(|number| echo(&number.to_string())))).await;
    assert!(many.refused.is_empty());
    let first = soon(many.batch.next()).await.expect("up").expect("there are more");
    let mut ended = soon(many.batch.outcomes()).await.expect("up");
    ended.push(first);
    let mut values: Vec<u32> =
        ended.into_iter().map(|(_, value)| value.expect("succeeds").parse().expect("a number")).collect();
    values.sort_unstable();
    assert_eq!(values, (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_of_many_that_makes_no_sense_does_not_hold_up_the_others() {
    let yard = yard();
    let many = soon(yard.submit_many([Draft::new(echo("x")).priority(10), Draft::new(echo("y"))])).await;
    assert_eq!(many.refused.len(), 1);
    assert_eq!(many.refused[0].task.payload(), &echo("x"));
    let ended = soon(many.batch.outcomes()).await.expect("up");
    assert_eq!(ended.into_iter().map(|(_, value)| value.expect("succeeds")).collect::<Vec<_>>(), ["y"]);
}

#[tokio::test]
async fn a_task_is_submitted_by_its_name_or_as_json() {
    let yard = yard();
    let mut task = soon(yard.submit_named("test.echo", vec![json!("x")], Map::new())).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), json!("x"));
    let mut kwargs = Map::new();
    kwargs.insert("until".into(), 0.into());
    kwargs.insert("fatal".into(), false.into());
    let mut task = soon(yard.submit_named("test.fail", Vec::new(), kwargs)).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), json!(1));
    let mut task = soon(yard.submit_json(r#"{"task":"test.echo","args":["y"]}"#)).await.expect("taken");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), json!("y"));
}

#[tokio::test]
async fn each_way_to_end_without_a_value_is_told_apart() {
    let yard = yard();
    let mut news = News::of(&yard);
    let mut cancelled = soon(yard.submit(later("cancelled"))).await.expect("taken");
    soon(cancelled.cancel()).await.expect("cancelled");
    assert!(matches!(soon(cancelled.outcome()).await, Err(TaskFailed::Cancelled)));

    let holder = soon(yard.submit(Hang).key("k").on_duplicate(KeyLimits::DISCARD)).await.expect("taken");
    assert_eq!(news.echo().await, "hangs");
    let twin = yard.submit(echo("twin")).namespace("test.hang").key("k").on_duplicate(KeyLimits::DISCARD);
    let mut twin = soon(twin).await.expect("taken");
    let failed = soon(twin.outcome()).await.expect_err("discarded");
    assert!(matches!(failed, TaskFailed::Discarded { lost_to } if lost_to == holder.id()), "{failed:?}");

    let expiring = yard.submit(echo("late")).key("k").on_duplicate(KeyLimits::SERIAL);
    let mut expired = soon(expiring.expires(Duration::from_millis(5))).await.expect("taken");
    assert!(matches!(soon(expired.outcome()).await, Err(TaskFailed::Expired)));

    let mut other =
        soon(yard.submit(Fail { until: 1, fatal: false })).await.expect("taken").typed::<String>();
    assert!(matches!(soon(other.outcome()).await, Err(TaskFailed::Value(_))));
}

#[tokio::test]
async fn a_task_says_more_than_the_defaults_of_its_pool() {
    let yard = yard();
    let mut task =
        soon(yard.submit(Fail { until: 2, fatal: false }).retry(attempts(1))).await.expect("taken");
    let failed = soon(task.outcome()).await.expect_err("one attempt");
    assert!(failed.to_string().contains("failed 1 times"), "{failed}");
}

/// What `tokio::spawn` needs.
#[tokio::test]
async fn a_submit_can_be_sent_to_another_thread() {
    let yard = yard();
    let spawned = tokio::spawn(async move {
        let mut task = yard.submit(echo("x")).await.map_err(|refused| refused.why)?;
        Ok::<_, NotTaken>(task.outcome().await.is_ok())
    });
    assert_eq!(soon(spawned).await.expect("no panic"), Ok(true));
}

#[tokio::test]
async fn pools_of_a_configuration_start_a_yard() {
    let text = r#"
        [pools.quick]
        kind = "inline"
        patterns = ["test.echo"]
        [pools.slow]
        kind = "blocking"
        timeout = "1m"
    "#;
    let settings = Settings::parse(text, Handlers::Own).expect("makes sense");
    let builder = Yard::builder().registry(registry());
    let yard = settings.pools.into_iter().fold(builder, Builder::pool).start().expect("starts");
    let mut quick = soon(yard.submit(echo("x"))).await.expect("taken");
    assert_eq!(soon(quick.outcome()).await.expect("succeeds"), "x");
    let mut slow = soon(yard.submit(Fail { until: 1, fatal: false })).await.expect("taken");
    assert_eq!(soon(slow.outcome()).await.expect("succeeds"), 1);
}

fn start(pool: Pool) -> String {
    let started = Yard::builder().pool(pool).registry(registry()).start();
    started.expect_err("refused").to_string()
}

#[test]
fn what_makes_no_sense_in_a_pool_is_told_with_the_path_of_its_key() {
    let cases = [
        (Pool::inline("p").pattern("#").pattern("a..b"), "pools.p.patterns[1]: "),
        (Pool::inline("p").pattern("#").env("A", "b"), "pools.p.environment: "),
        (Pool::blocking("p").memory_limit(1).pattern("#"), "pools.p.memory_limit: "),
        (Pool::blocking("p").pattern("#").concurrency(2), "pools.p.concurrency: "),
        (Pool::inline("p").pattern("#").workers(1..=2), "pools.p.max: "),
        (Pool::process("p").pattern("#").timeout(Duration::ZERO), "pools.p.timeout: "),
        (Pool::process("p").pattern("#").max_tasks(0), "pools.p.max_tasks: "),
        (
            Pool::process("p").pattern("#").retry(Retry { max_attempts: 0, ..Retry::default() }),
            "pools.p.retry.max_attempts: ",
        ),
    ];
    for (pool, path) in cases {
        let error = start(pool);
        assert!(error.starts_with(path), "{error} has no {path}");
    }
}

#[test]
fn a_pool_of_own_handlers_needs_some() {
    for pool in [Pool::process("p"), Pool::blocking("p"), Pool::inline("p")] {
        let started = Yard::builder().registry(Registry::new()).pool(pool.pattern("#")).start();
        assert!(matches!(started, Err(StartError::NoHandlers(_))));
    }
    let error = Yard::builder().registry(registry()).start().expect_err("no pool").to_string();
    assert!(error.contains("Pool::process"), "{error}");
}

/// The values of a task are those of any other program, too.
#[tokio::test]
async fn a_foreign_task_nobody_knows_waits_and_can_be_cancelled() {
    let yard = yard();
    let mut task =
        soon(yard.submit_named("elsewhere.only", Vec::<Value>::new(), Map::new())).await.expect("taken");
    soon(task.cancel()).await.expect("cancelled");
    assert!(matches!(soon(task.outcome()).await, Err(TaskFailed::Cancelled)));
}
