//! Connections that break, servers that hang or refuse: what is said, and that a repetition does the right thing.

use std::time::Duration;

use taskyard::store::Durability;
use taskyard::store::postgres::Options;
use taskyard_core::store::{Answer, Filter, Posted, Request, Room, RowState, StoreError};

use crate::desk::{Desk, POOL, accepted, claimed, finishing, numbers, options};
use crate::private::PrivateServer;
use crate::proxy::{Fault, Proxy};
use crate::server::{Direct, Schema};
use crate::task::{id, task};

/// A dispatcher whose way to the server may break.
fn far_desk(schema: &Schema) -> (Desk, Proxy) {
    let proxy = Proxy::to(&schema.url);
    let desk = Desk::opened(Options { address: proxy.url.parse().unwrap(), ..options(schema) }, || {});
    (desk, proxy)
}

/// Asks something whose commit is not heard of, then again until there is an answer.
fn ask_through(desk: &mut Desk, proxy: &Proxy, fault: Fault, request: Request) -> Answer {
    proxy.set(fault);
    let first = desk.try_ask(request);
    assert!(matches!(first, Err(StoreError::Unknown(_))), "{fault:?}: {first:?}");
    assert!(proxy.is_over());
    desk.insist()
}

const FAULTS: [Fault; 2] = [Fault::CommitLost, Fault::AnswerLost];

#[test]
fn a_claim_whose_answer_was_lost_is_answered_with_the_same_rows() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    for (round, fault) in FAULTS.into_iter().enumerate() {
        let first = 10 * round as u64;
        desk.post([task(first), task(first + 1), task(first + 2)]);
        let claim = Request::Claim { pool: POOL, ready: 2, unjudged: 0 };
        let rows = claimed(ask_through(&mut desk, &proxy, fault, claim));
        assert_eq!(numbers(&rows), [first, first + 1], "{fault:?}");
        assert!(rows.iter().all(|row| row.epoch == 1));
        let counts = desk.counts();
        assert_eq!((counts.claimed, counts.ready), (2, 1));
        desk.finish(&rows);
        let rest = desk.claim(9);
        assert_eq!(numbers(&rest), [first + 2]);
        desk.finish(&rest);
    }
}

#[test]
fn a_post_whose_answer_was_lost_is_known_with_its_own_claim() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    for (n, fault) in (0..).zip(FAULTS) {
        let pools = vec![taskyard_core::store::PoolRoom { pool: POOL, ready: 1, near: 0 }];
        let room = Room { pools, total: 1, before: desk.now().wall };
        let post = Request::Post { rows: vec![task(n).row()], room };
        let Answer::Posted(posted) = ask_through(&mut desk, &proxy, fault, post) else { panic!("no post") };
        match (&posted[0], fault) {
            (Posted::Claimed(row), Fault::CommitLost) => assert_eq!(row.epoch, 1),
            (Posted::Known(known), Fault::AnswerLost) => {
                assert_eq!(known.state, RowState::Claimed);
                assert_eq!(known.claimed.as_ref().map(|row| row.epoch), Some(1));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(desk.counts().claimed as u64, n + 1);
    }
}

#[test]
fn a_settlement_whose_answer_was_lost_is_recorded_once() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    desk.post([task(1), task(2)]);
    for fault in FAULTS {
        let rows = desk.claim(1);
        let answer = ask_through(&mut desk, &proxy, fault, finishing(&rows));
        assert_eq!(accepted(&answer), 1, "{fault:?}");
    }
    let counts = desk.counts();
    assert_eq!((counts.claimed, counts.ready), (0, 0));
}

#[test]
fn what_a_lost_answer_had_ended_is_told_when_it_is_asked_again() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    for (n, fault) in (0..).zip(FAULTS) {
        desk.post([task(n)]);
        let cancel = Request::Cancel { filter: Filter::ids([id(n)]), after: 0 };
        let answer = ask_through(&mut desk, &proxy, fault, cancel);
        let Answer::Cancelled { tasks, ended, .. } = answer else { panic!("{answer:?}") };
        assert_eq!((tasks.len(), ended.len()), (1, 0), "{fault:?}");
    }
}

/// The number of a lane that was never committed must not be used.
#[test]
fn a_lane_that_was_new_in_a_lost_transaction_is_new_again() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    let post = |n| Request::Post { rows: vec![task(n).lane("a.y", "two").row()], room: Room::default() };
    ask_through(&mut desk, &proxy, Fault::CommitLost, post(1));
    let lane = desk.view(id(1)).unwrap().lane;
    assert_eq!((lane.namespace.as_str(), lane.name.as_str()), ("a.y", "two"));
    let lane = Desk::at(&schema).view(id(1)).unwrap().lane;
    assert_eq!((lane.namespace.as_str(), lane.name.as_str()), ("a.y", "two"), "for all others as well");
}

/// Two gave the pair a number at once, and the transaction of one of them was lost: with its number went the name.
#[test]
fn a_lane_is_known_by_the_number_that_is_left() {
    let Some(schema) = Schema::new() else { return };
    let (mut desk, proxy) = far_desk(&schema);
    let name = &schema.name;
    schema.direct.batch(&format!(
        "BEGIN; INSERT INTO {name}.lanes (namespace, name) VALUES ('a.y', 'two');
        INSERT INTO {name}.tasks (id, lane, rank, due, posted, state, priority, overflow, body)
          SELECT '00000000-0000-0000-0000-000000000001', max(lane), 0, 0, 0, 3, 5, 0,
            '{{\"task\":\"two\",\"namespace\":\"a.y\"}}' FROM {name}.lanes WHERE namespace = 'a.y'"
    ));
    let post = |n| Request::Post { rows: vec![task(n).lane("a.y", "two").row()], room: Room::default() };
    proxy.set(Fault::CommitLost);
    std::thread::scope(|scope| {
        let posting = scope.spawn(|| desk.try_ask(post(1)));
        schema.direct.wait_until_somebody_waits();
        schema.direct.batch("COMMIT");
        let posted = posting.join().unwrap();
        assert!(matches!(posted, Err(StoreError::Unknown(_))), "{posted:?}");
    });
    let again = desk.insist();
    assert!(matches!(&again, Answer::Posted(posted) if matches!(posted[0], Posted::Known(_))), "{again:?}");
    let next = desk.post([task(2).lane("a.y", "two")]);
    assert!(matches!(next[0], Posted::Kept(_)), "{next:?}");
}

#[test]
fn a_connection_that_was_ended_between_two_requests_is_made_anew() {
    let Some(schema) = Schema::new() else { return };
    let url = format!("{}?application_name={}", schema.url, schema.name);
    let mut desk = Desk::opened(Options { address: url.parse().unwrap(), ..options(&schema) }, || {});
    desk.post([task(1)]);
    let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1";
    assert!(!schema.direct.rows(end, &[&schema.name]).is_empty());
    match desk.try_ask(Request::Claim { pool: POOL, ready: 9, unjudged: 0 }) {
        Ok(answer) => assert_eq!(numbers(&claimed(answer)), [1]),
        Err(StoreError::Unavailable(_)) => assert_eq!(numbers(&claimed(desk.insist())), [1]),
        Err(other) => panic!("{other:?}"),
    }
}

/// What it does meanwhile is undone by the server.
#[test]
fn a_server_that_is_not_heard_is_given_up_and_found_again() {
    let Some(schema) = Schema::new() else { return };
    let proxy = Proxy::to(&schema.url);
    let patience = Duration::from_secs(2);
    let far = Options { address: proxy.url.parse().unwrap(), patience, ..options(&schema) };
    let mut desk = Desk::opened(far, || {});
    desk.post([task(1)]);
    proxy.set(Fault::Silence);
    let claim = desk.try_ask(Request::Claim { pool: POOL, ready: 1, unjudged: 0 });
    assert!(matches!(claim, Err(StoreError::Unavailable(_))), "{claim:?}");
    assert!(matches!(desk.again(), Err(StoreError::Unavailable(_))));
    proxy.set(Fault::None);
    assert_eq!(numbers(&claimed(desk.insist())), [1]);
}

/// B23
#[test]
fn a_server_that_may_not_be_written_to_says_so_and_can_be_read() {
    let Some(schema) = Schema::new() else { return };
    Desk::at(&schema).post([task(1)]);
    let address = format!("{}?options=-c%20default_transaction_read_only%3Don", schema.url);
    let read_only = Options { address: address.parse().unwrap(), ..options(&schema) };
    let mut desk = Desk::unregistered(read_only);
    let refused = desk.try_ask(Request::Post { rows: vec![task(2).row()], room: Room::default() });
    assert!(matches!(&refused, Err(StoreError::Unwritable(why)) if why.contains("read-only")), "{refused:?}");
    assert_eq!(desk.counts().ready, 1);
}

/// To the follower that took over the transaction was yet to begin, and it was asked about for good.
#[test]
fn a_commit_that_the_next_server_has_not_heard_of_is_lost() {
    let Some(server) = PrivateServer::start("failover", &[]) else { return };
    let schema = Schema::at(&server.url);
    let proxy = Proxy::to(&schema.url);
    let address = proxy.url.parse().unwrap();
    let mut desk = Desk::opened(Options { address, durability: Durability::Full, ..options(&schema) }, || {});
    desk.post([task(1)]);
    server.stop();
    server.keep_a_copy();
    server.start_again();
    let again = Direct::to(&server.url);
    for _ in 0..50 {
        again.rows("SELECT pg_current_xact_id()::text", &[]);
    }
    if desk.try_ask(Request::Count).is_err() {
        desk.insist();
    }
    proxy.set(Fault::AnswerLost);
    let claim = desk.try_ask(Request::Claim { pool: POOL, ready: 1, unjudged: 0 });
    assert!(matches!(claim, Err(StoreError::Unknown(_))), "{claim:?}");
    server.stop();
    server.go_back_to_the_copy();
    server.start_again();
    assert_eq!(numbers(&claimed(desk.insist())), [1]);
}

/// It was done twice: what was answered was known only when all of them were committed.
#[test]
fn what_is_asked_twice_in_one_batch_is_done_once() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post([task(1), task(2)]);
    let claim = Request::Claim { pool: POOL, ready: 1, unjudged: 0 };
    let rows: Vec<_> =
        desk.ask_twice_at_once(claim).into_iter().map(|rows| numbers(&claimed(rows))).collect();
    assert_eq!(rows, [[1], [1]]);
    assert_eq!(numbers(&claimed(desk.insist())), [1], "and what is remembered of them is the same");
}
