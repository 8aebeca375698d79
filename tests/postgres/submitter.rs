//! Tasks that are submitted inside an application's own transaction.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use taskyard::registry::Registry;
use taskyard::store::Store as _;
use taskyard::store::postgres::{NotSubmitted, Options, Submitter};
use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, Ask, Asker, Request, Room, RowState};
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

/// A dispatcher has recorded its end, and not committed it: the row that goes is waited for.
#[test]
fn an_id_that_is_just_ending_changes_nothing() {
    let Some(schema) = Schema::new() else { return };
    Desk::at(&schema).post([task(1)]);
    let ending = Direct::to(&schema.url);
    ending.batch(&format!(
        "BEGIN; SET search_path TO {};
         INSERT INTO history (id, lane, owner, ended, epoch, attempts, outcome)
         SELECT id, lane, 1, 1, 1, 1, 0 FROM tasks; DELETE FROM tasks",
        schema.name
    ));
    std::thread::scope(|scope| {
        let submitting = scope.spawn(|| submit(&schema, &[text(1, "")], true));
        ending.wait_until_somebody_waits();
        ending.batch("COMMIT");
        submitting.join().unwrap();
    });
    assert_eq!(ending.rows("SELECT FROM tasks", &[]).len(), 0, "it ran, and will not run again");
}

/// Who posts an id that an application has submitted and not committed waits for it; the lease does not.
#[test]
fn a_renewal_does_not_wait_for_an_id_that_is_not_committed() {
    let Some(schema) = Schema::new() else { return };
    let patience = Duration::from_secs(1);
    let mut desk = Desk::opened(Options { patience, ..options(&schema) }, || {});
    let submitter = submitter(&schema);
    let mut open = Direct::to(&schema.url);
    open.batch("BEGIN");
    let first = open.with(async |client| submitter.submit_json(&*client, &text(1, "")).await);
    assert_eq!(first.unwrap(), id(1));
    let post = Request::Post { rows: vec![task(1).row()], room: Room::default() };
    let ask = |from, request| {
        let (owner, request) = (desk.owner, Arc::new(request));
        Ask { owner, from, no: 1_000, request, oldest_open: 1_000 }
    };
    let asks = [ask(Asker::Conductor, post), ask(Asker::Lease, Request::Renew)];
    let now = desk.now();
    let replies = desk.store.answer(now, &asks);
    assert!(replies[0].answer.is_err(), "{:?}", replies[0]);
    assert!(matches!(replies[1].answer, Ok(Answer::Renewed(_))), "{:?}", replies[1]);
    open.batch("COMMIT");
    assert_eq!(run(&mut desk, 9), [id(1)]);
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
