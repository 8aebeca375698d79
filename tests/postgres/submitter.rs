//! Tasks that are submitted inside an application's own transaction.

use std::sync::mpsc::channel;
use std::time::Duration;

use taskyard::registry::Registry;
use taskyard::store::postgres::{NotSubmitted, Submitter};
use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::RowState;
use taskyard_core::task::KeyLimits;

use crate::desk::{Desk, options};
use crate::server::{Direct, Schema};
use crate::task::{id, task};

fn submitter(schema: &Schema) -> Submitter {
    Submitter::new(Registry::new()).schema(schema.name.parse().unwrap())
}

fn text(n: u64, rest: &str) -> String {
    format!(r#"{{"task":"one","namespace":"a.x","uuid":"{}"{rest}}}"#, id(n))
}

/// Submits these in one transaction and commits it, or not.
fn submit(schema: &Schema, texts: &[String], commit: bool) {
    let submitter = submitter(schema);
    Direct::to(&schema.url).with(async |client| {
        let transaction = client.transaction().await.unwrap();
        for text in texts {
            submitter.submit_json(&transaction, text).await.unwrap();
        }
        if commit {
            transaction.commit().await.unwrap();
        }
    });
}

/// Those of these that run, in order.
fn run(desk: &mut Desk, up_to: usize) -> Vec<TaskId> {
    desk.promote();
    let rows = desk.claim(up_to);
    assert_eq!(desk.finish(&rows), rows.len());
    rows.iter().map(|row| row.task.id).collect()
}

#[test]
fn a_task_is_there_exactly_if_the_transaction_is_committed() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    submit(&schema, &[text(1, ""), text(2, "")], false);
    assert_eq!(run(&mut desk, 9), []);
    assert!(desk.view(id(1)).is_none());
    submit(&schema, &[text(1, ""), text(2, "")], true);
    assert_eq!(run(&mut desk, 9), [id(1), id(2)]);
}

#[test]
fn dispatchers_hear_of_it_when_it_is_committed() {
    let Some(schema) = Schema::new() else { return };
    let (hint, hints) = channel();
    let mut desk = Desk::opened(options(&schema), move || _ = hint.send(()));
    let long = Duration::from_mins(1);
    hints.recv_timeout(long).expect("it listens");
    submit(&schema, &[text(1, "")], true);
    hints.recv_timeout(long).expect("a hint");
    let due = desk.look().and_then(|status| status.next_due).expect("something is due");
    assert!(due <= desk.now().wall);
}

#[test]
fn what_is_said_of_a_task_holds() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    let texts = [
        text(1, r#","priority":0"#),
        text(2, r#","priority":9"#),
        text(3, r#","delay":3600"#),
        text(4, r#","eta":"2100-01-01T00:00:00Z","expires":"2100-01-02T00:00:00Z""#),
        text(5, r#","on_duplicate":"serial","key":"k""#),
        text(6, r#","on_duplicate":"serial","key":"k""#),
        text(7, r#","on_duplicate":"serial","key":"k""#),
        text(8, r#","on_duplicate":"discard","key":"l""#),
    ];
    submit(&schema, &texts, true);
    desk.promote();
    let states = [1, 3, 4, 5, 6, 7, 8].map(|n| desk.view(id(n)).unwrap().state);
    assert_eq!(
        states,
        [
            RowState::Ready,
            RowState::Parked,
            RowState::Parked,
            RowState::Ready,
            RowState::Ready,
            RowState::Behind,
            RowState::Unjudged
        ]
    );
    let view = desk.view(id(4)).unwrap();
    assert_eq!(view.due.unwrap().0, 4_102_444_800_000_000);
    assert_eq!(run(&mut desk, 9), [id(2), id(5), id(6), id(1)]);
    assert_eq!(run(&mut desk, 9), [id(7)]);
    assert_eq!(desk.store.verify(), [""; 0]);
}

#[test]
fn an_id_that_is_known_changes_nothing() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post([task(1), task(2)]);
    submit(&schema, &[text(1, r#","delay":3600"#)], true);
    assert_eq!(run(&mut desk, 9), [id(1), id(2)]);
    submit(&schema, &[text(1, ""), text(2, "")], true);
    assert_eq!(run(&mut desk, 9), []);
    assert_eq!(desk.outcome(1), Some(Outcome::Succeeded("null".into())));
}

/// An application may take its time; dispatchers go on, in the same lane and with the same key.
#[test]
fn nobody_waits_for_a_transaction_that_stays_open() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    let submitter = submitter(&schema);
    Direct::to(&schema.url).with(async |client| {
        let transaction = client.transaction().await.unwrap();
        let serial = text(1, r#","on_duplicate":"serial","key":"k""#);
        submitter.submit_json(&transaction, &serial).await.unwrap();
        // The dispatcher has a thread of its own, as one always has.
        std::thread::scope(|scope| {
            let work = || {
                let key = taskyard_core::task::Key::given("k").0;
                desk.post([task(2).key(key, KeyLimits::SERIAL)]);
                assert_eq!(run(&mut desk, 9), [id(2)]);
            };
            scope.spawn(work).join().unwrap();
        });
        transaction.commit().await.unwrap();
    });
    assert_eq!(run(&mut desk, 9), [id(1)]);
}

#[test]
fn a_task_that_makes_no_sense_is_refused_and_the_transaction_goes_on() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    let submitter = submitter(&schema);
    Direct::to(&schema.url).with(async |client| {
        let transaction = client.transaction().await.unwrap();
        let refused = submitter.submit_json(&transaction, r#"{"task":"one","delay":"soon"}"#).await;
        assert!(matches!(refused, Err(NotSubmitted::Rejected(_))), "{refused:?}");
        submitter.submit_json(&transaction, &text(1, "")).await.unwrap();
        transaction.commit().await.unwrap();
    });
    assert_eq!(run(&mut desk, 9), [id(1)]);
}
