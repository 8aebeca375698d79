//! A server that is really stopped and started again.

use taskyard_core::store::{Answer, Request, Room, RowState, StoreError};

use crate::desk::{Desk, POOL, accepted, claimed, finishing, numbers, options};
use crate::private::PrivateServer;
use crate::server::Schema;
use crate::task::{id, task};
use taskyard::store::Durability;
use taskyard::store::postgres::Options;

/// B17
#[test]
fn a_server_that_is_stopped_and_started_again_has_all_that_was_answered() {
    let Some(server) = PrivateServer::start("restart", &[]) else { return };
    let schema = Schema::at(&server.url);
    let durable = Options { durability: Durability::Full, ..options(&schema) };
    let mut desk = Desk::opened(durable, || {});
    desk.post([task(1), task(2), task(3)]);
    let rows = desk.claim(2);

    server.stop();
    let claim = desk.try_ask(Request::Claim { pool: POOL, ready: 9, unjudged: 0 });
    assert!(matches!(claim, Err(StoreError::Unavailable(_))), "{claim:?}");
    assert!(matches!(desk.again(), Err(StoreError::Unavailable(_))), "and says so each time");
    assert_eq!(desk.look(), None);
    server.start_again();
    assert_eq!(numbers(&claimed(desk.insist())), [3]);

    assert_eq!(accepted(&desk.ask(finishing(&rows))), 2);
    assert_eq!(desk.store.verify(), [""; 0]);

    server.stop();
    let post = desk.try_ask(Request::Post { rows: vec![task(4).row()], room: Room::default() });
    assert!(matches!(post, Err(StoreError::Unavailable(_))), "{post:?}");
    server.start_again();
    assert!(matches!(desk.insist(), Answer::Posted(_)));
    assert_eq!(desk.view(id(4)).unwrap().state, RowState::Ready);
}
