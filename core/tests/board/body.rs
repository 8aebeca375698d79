//! A task comes back as it was posted, whatever keeps it.

use std::time::Duration;

use taskyard_core::store::RowState;
use taskyard_core::task::{Key, KeyLimits, Priority};

use crate::suite::rig::{A, Rig, done, only, retry, trash};
use crate::suite::task::{at, id, task, typed};

const FULL: &str = r#"{ "task":"one", "namespace":"a.x", "args":[1, "zwei", {"drei": 3.0}], "kwargs":{"é":null},
    "timeout": 2.5, "retry":{"max_attempts":7,"backoff":{"initial":1,"factor":3,"max":60,"jitter":0.5}},
    "callbacks":[{"task":"two","args":[4]}], "errbacks":[{"task":"two"}], "reply_to":"there", "bind":true,
    "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "unknown": [ "kept" ] }"#;

#[test]
fn what_is_claimed_is_what_was_posted_byte_for_byte() {
    let mut rig = Rig::new();
    rig.post([typed(1, FULL)]);
    let rows = rig.claim_rows(A, 1, 0);
    let task = &rows[0].task;
    assert_eq!((task.id, task.body.text()), (id(1), FULL));
    assert_eq!(task.body.args(), r#"[1, "zwei", {"drei": 3.0}]"#);
    assert_eq!(task.body.kwargs(), r#"{"é":null}"#);
    assert_eq!(task.timeout, Some(Duration::from_millis(2_500)));
    let retry = task.retry.as_deref().unwrap();
    assert_eq!((retry.max_attempts, retry.factor, retry.max), (7, 3.0, Duration::from_mins(1)));
    let extras = task.extras.as_deref().unwrap();
    assert_eq!((extras.reply_to.as_deref(), extras.bind), (Some("there"), true));
    assert!(extras.traceparent.as_deref().unwrap().starts_with("00-0af7"));
    assert_eq!(extras.callbacks[0].body.args(), "[4]");
    assert_eq!(extras.errbacks[0].lane.name.to_string(), "two");
    assert_eq!(task.lane.namespace.to_string(), "a.x");
}

/// What a builder or a registered handler says beside the text is kept beside it.
#[test]
fn what_was_said_beside_the_text_is_kept() {
    let limits = KeyLimits::new(3, KeyLimits::UNLIMITED, taskyard_core::task::Overflow::DropNew);
    let mut rig = Rig::new();
    rig.post([task(1).priority(8).key(u128::MAX - 5, limits).expires_at(900)]);
    let rows = rig.claim_rows(A, 1, 0);
    let task = &rows[0].task;
    assert_eq!((task.key, task.limits), (Some(Key(u128::MAX - 5)), limits));
    assert_eq!((task.priority, rows[0].expires), (Priority::new(8).unwrap(), Some(at(900))));
    assert_eq!(rows[0].posted, at(0));
}

#[test]
fn a_task_is_shown_as_it_was_posted_until_it_ends_and_in_the_trash() {
    let mut rig = Rig::new();
    rig.post([typed(1, FULL), typed(2, FULL)]);
    let text = |rig: &mut Rig, n| rig.view(n)?.task.map(|task| task.body.text().to_owned());
    assert_eq!(text(&mut rig, 1).as_deref(), Some(FULL));
    rig.claim(A, 2);
    rig.settle(1, 1, trash());
    rig.settle(2, 1, done());
    assert_eq!(text(&mut rig, 1).as_deref(), Some(FULL));
    assert_eq!(text(&mut rig, 2), None);
    assert_eq!(rig.view(2).unwrap().lane.namespace.to_string(), "a.x");
}

/// The ids that callers choose use all their bits.
#[test]
fn an_id_is_kept_whole() {
    let mut rig = Rig::new();
    let text = r#"{"task":"one","namespace":"a.x","uuid":"fedcba98-7654-8321-8fed-cba987654321"}"#;
    rig.post([typed(1, text)]);
    let rows = rig.claim_rows(A, 1, 0);
    assert_eq!(rows[0].task.id.to_string(), "fedcba98-7654-8321-8fed-cba987654321");
}

/// D17
#[test]
fn a_hundred_retries_are_a_hundred_attempts_of_the_same_task() {
    let mut rig = Rig::new();
    rig.post([typed(1, FULL).priority(8).expires_at(10_000_000)]);
    for epoch in 1..=100_u32 {
        let pause = u64::from(epoch) * 5_000;
        let rows = rig.claim_rows(A, 1, 0);
        let row = &rows[0];
        assert_eq!((row.epoch, row.attempts, row.crash_marks), (epoch, epoch - 1, 0));
        assert_eq!((row.task.body.text(), row.task.priority.get()), (FULL, 8));
        assert_eq!(row.expires, Some(at(10_000_000)));
        rig.settle(1, epoch, retry(pause));
        assert_eq!(rig.states([1]), [RowState::Parked]);
        assert_eq!(rig.view(1).unwrap().due, Some(at(pause)));
        let early = pause - 1;
        rig.now.wall = at(early);
        rig.promote();
        assert_eq!(rig.claim(A, 1), crate::suite::rig::NONE);
        rig.pass(1).promote();
    }
    let view = rig.view(1).unwrap();
    let epochs: Vec<_> = view.log.iter().map(|record| record.epoch).collect();
    assert_eq!((view.attempts, epochs), (100, (1..=100).collect()));
    assert_eq!(rig.cancel(only(&[1])).0, [1]);
}
