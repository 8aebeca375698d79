//! Rows that cannot be understood, and requests that fail, beside others that are well.

use taskyard::registry::Registry;
use taskyard::{Pool, Yard};
use taskyard_core::dispatch::{Outcome, Trash};
use taskyard_core::store::{Answer, Filter, Request, Room, RowState, StoreError};

use crate::desk::{Desk, accepted, claimed, finishing, numbers};
use crate::node::{on, until};
use crate::server::Schema;
use crate::task::{New, id, task};

/// Writes past the board into its table.
fn damage(schema: &Schema, body: &str, which: &str) {
    schema.direct.batch(&format!("UPDATE {}.tasks SET body = {body} WHERE {which}", schema.name));
}

fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

fn unreadable(outcome: Option<Outcome>) -> String {
    match outcome {
        Some(Outcome::Trashed(Trash::Unreadable(why))) => why,
        other => panic!("{other:?}"),
    }
}

fn reason(desk: &mut Desk, n: u64) -> String {
    unreadable(desk.outcome(n))
}

/// B20
#[test]
fn one_malformed_row_among_a_hundred_is_put_aside_with_a_reason() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((1..=101).map(task));
    damage(&schema, r#"'{"task":'"#, "sequence = 50");
    let rows = desk.claim(200);
    assert_eq!(numbers(&rows), (1..=101).filter(|n| *n != 50).collect::<Vec<_>>());
    assert!(reason(&mut desk, 50).contains("not JSON"));
    assert_eq!(desk.finish(&rows), 100);
    let counts = desk.counts();
    assert_eq!((counts.trashed, counts.claimed, counts.ready), (1, 0, 0));
    assert_eq!(desk.store.verify(), [""; 0]);
}

/// B20, with a whole yard.
#[test]
fn a_yard_runs_what_stands_beside_a_malformed_row_and_what_comes_after_it() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((1..=101).map(task));
    damage(&schema, r"'\x7b22ff'", "sequence = 50");
    let registry = Registry::new().register_fn("one", async |_, _, _| Ok(1)).unwrap();
    let store = on(&schema, &schema.url, std::time::Duration::from_mins(1));
    let builder = Yard::builder().registry(registry).store(store).pool(Pool::inline("all").pattern("#"));
    let yard = builder.start().unwrap();
    let done = format!("SELECT count(*) FROM {}.history", schema.name);
    let done = || schema.direct.rows(&done, &[])[0].get::<_, i64>(0);
    until("a hundred are done", || done() == 100);
    assert!(reason(&mut desk, 50).contains("utf-8"));
    desk.post([task(102)]);
    until("the next one is done as well", || done() == 101);
    assert!(yard.store_status().is_ready(), "{:?}", yard.store_status());
}

/// D16
#[test]
fn whatever_is_wrong_with_a_body_its_neighbours_go_on() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((1..=5).map(task));
    damage(&schema, r"'\x7b22ff'", "sequence = 1");
    damage(&schema, "''", "sequence = 2");
    damage(&schema, r#"'{"args":[]}'"#, "sequence = 4");
    assert_eq!(numbers(&desk.claim(9)), [3, 5]);
    let reasons = [1, 2, 4].map(|n| reason(&mut desk, n));
    assert!(reasons[0].contains("utf-8"), "{reasons:?}");
    assert!(reasons[1].contains("not a JSON object"), "{reasons:?}");
    assert!(reasons[2].contains("`task`"), "{reasons:?}");
}

/// D16: those that are put aside make room for the next of their key.
#[test]
fn malformed_rows_of_a_serial_key_do_not_hold_up_the_others_of_that_key() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((1..=5).map(|n| task(n).serial()));
    damage(&schema, "'x'", "sequence IN (1, 2, 4)");
    assert_eq!(numbers(&desk.claim(9)), [0; 0], "of a key only the first two are at hand");
    let states = |desk: &mut Desk| [3, 4, 5].map(|n| desk.view(id(n)).unwrap().state);
    assert_eq!(states(&mut desk), [RowState::Ready, RowState::Ready, RowState::Behind]);
    let rows = desk.claim(9);
    assert_eq!(numbers(&rows), [3]);
    assert_eq!(states(&mut desk), [RowState::Claimed, RowState::Ended, RowState::Ready]);
    assert_eq!(accepted(&desk.ask(finishing(&rows))), 1);
    assert_eq!(numbers(&desk.claim(9)), [5]);
    assert!([1, 2, 4].iter().all(|n| reason(&mut desk, *n).contains("JSON")));
    assert_eq!(desk.store.verify(), [""; 0]);
}

/// D16
#[test]
fn a_parked_row_is_put_aside_once_somebody_wants_it() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    let due = desk.now().wall + std::time::Duration::from_hours(1);
    desk.post((1..=3).map(|n| task(n).due(due)));
    damage(&schema, "''", "sequence < 3");
    let view = desk.view(id(1)).unwrap();
    assert_eq!((view.state, view.task.is_none()), (RowState::Parked, true));
    let cancel = Request::Cancel { filter: Filter::ids([id(1)]), after: 0 };
    assert!(matches!(desk.ask(cancel), Answer::Cancelled { tasks, .. } if tasks.len() == 1));
    assert_eq!(desk.outcome(1), Some(Outcome::Cancelled), "to be rid of it nobody needs to understand it");
    let preload = Request::Preload {
        pool: crate::desk::POOL,
        before: due + std::time::Duration::from_mins(1),
        up_to: 9,
    };
    assert_eq!(numbers(&claimed(desk.ask(preload))), [3]);
    assert!(!reason(&mut desk, 2).is_empty());
}

#[test]
fn what_cannot_be_understood_stays_in_the_trash_with_a_reason_however_often_it_is_tried() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post([task(1)]);
    damage(&schema, "'x'", "true");
    let requeue = || Request::Requeue { filter: all(), up_to: 9 };
    assert_eq!(numbers(&desk.claim(1)), [0; 0]);
    desk.ask(requeue());
    assert_eq!(numbers(&desk.claim(1)), [0; 0]);
    assert_eq!(desk.counts().trashed, 1);
    assert!(reason(&mut desk, 1).contains("JSON"));
    let mend = r#"UPDATE {}.trash SET body = '{"task":"one","namespace":"a.x"}'"#;
    schema.direct.batch(&mend.replace("{}", &schema.name));
    assert!(matches!(desk.ask(requeue()), Answer::Requeued { ids, .. } if ids == [id(1)]));
    assert_eq!(numbers(&desk.claim(1)), [1]);
    assert_eq!(desk.store.verify(), [""; 0]);
}

/// They would share a commit. Seen: all of them failed, those of the Lease among them, and again at each repetition.
#[test]
fn a_request_that_fails_does_not_spoil_its_neighbours() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    schema.direct.batch(
        &"CREATE FUNCTION {}.broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'for a test'; END $$;
        CREATE TRIGGER broken BEFORE INSERT ON {}.tasks FOR EACH ROW WHEN (NEW.priority = 9)
          EXECUTE FUNCTION {}.broken();"
            .replace("{}", &schema.name),
    );
    let post = |tasks: Vec<New>| Request::Post {
        rows: tasks.into_iter().map(New::row).collect(),
        room: Room::default(),
    };
    let [first, second, third, renewal] = desk.try_all([
        post(vec![task(1)]),
        post(vec![task(4), task(2).priority(9)]),
        post(vec![task(3)]),
        Request::Renew,
    ]);
    assert!(first.is_ok() && third.is_ok() && renewal.is_ok(), "{first:?} {third:?} {renewal:?}");
    assert!(matches!(&second, Err(StoreError::Unwritable(why)) if why.contains("for a test")), "{second:?}");
    assert!(desk.view(id(4)).is_none(), "nothing is half written");
    assert_eq!(numbers(&desk.claim(9)), [1, 3]);
    assert_eq!(desk.store.verify(), [""; 0]);
}
