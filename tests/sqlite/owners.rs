//! Leases that run on the boot-time clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use taskyard::core::store::{Answer, OwnerId, Registration, Request};
use taskyard::store::sqlite::{BootClock, Options};

use crate::desk::{Desk, numbers, options, task};
use crate::folder::Folder;

const LEASE: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Boot(&'static str, Arc<AtomicI64>);

impl BootClock for Boot {
    fn boot(&self) -> &str {
        self.0
    }

    fn micros(&self) -> i64 {
        self.1.load(Ordering::Relaxed)
    }
}

fn boot(name: &'static str, seconds: i64) -> Boot {
    Boot(name, Arc::new(AtomicI64::new(seconds * 1_000_000)))
}

fn open(folder: &Folder, clock: &Boot) -> Desk {
    let options = Options { clock: Some(Box::new(clock.clone())), ..options() };
    let mut desk = Desk::open_with(&folder.path("board.db"), options).unwrap();
    let registration =
        Registration { host: "here".into(), pid: 1, version: "1".into(), lease: LEASE, patterns: Vec::new() };
    match desk.ask(Request::Register(registration)) {
        Answer::Registered(owner) => desk.owner = owner,
        other => panic!("{other:?}"),
    }
    desk
}

fn take_over(desk: &mut Desk) -> usize {
    match desk.ask(Request::TakeOver { up_to: 100 }) {
        Answer::TakenOver { returned, .. } => returned,
        other => panic!("{other:?}"),
    }
}

/// B3
#[test]
fn a_lease_outlives_its_process_and_no_restart_shortens_it() {
    let folder = Folder::new();
    let clock = boot("first", 1_000);
    let mut dead = open(&folder, &clock);
    dead.post([task(1)]);
    dead.claim(1);
    drop(dead);
    let mut heir = open(&folder, &clock);
    clock.1.fetch_add(9_999_999, Ordering::Relaxed);
    assert_eq!(take_over(&mut heir), 0);
    clock.1.fetch_add(1, Ordering::Relaxed);
    assert_eq!(take_over(&mut heir), 1);
    assert_eq!(numbers(&heir.claim(1)), [1]);
}

/// Its clock starts again: what it says tells nothing of the leases of the boot before.
#[test]
fn after_another_boot_every_lease_has_ended() {
    let folder = Folder::new();
    let mut dead = open(&folder, &boot("first", 1_000_000));
    dead.post([task(1)]);
    dead.claim(1);
    drop(dead);
    let mut heir = open(&folder, &boot("second", 5));
    match heir.ask(Request::Owners) {
        Answer::Owners(owners) => {
            let left: Vec<_> = owners.iter().map(|owner| owner.lease_left).collect();
            assert_eq!(left, [Duration::ZERO, LEASE]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(heir.ask(Request::Renew), Answer::Renewed(renewal) if renewal.lapsed));
    assert_eq!(take_over(&mut heir), 1);
}

/// B5
#[test]
fn an_owner_that_was_fenced_by_another_process_is_refused_and_counted() {
    let folder = Folder::new();
    let clock = boot("first", 1_000);
    let (mut zombie, mut heir) = (open(&folder, &clock), open(&folder, &clock));
    zombie.post([task(1)]);
    let claimed = zombie.claim(1);
    clock.1.fetch_add(11_000_000, Ordering::Relaxed);
    assert_eq!(take_over(&mut heir), 1);
    let late = zombie.try_ask(crate::desk::settle(&claimed));
    assert_eq!(late.map(drop), Err(taskyard::core::store::StoreError::Fenced));
    assert_eq!(zombie.store.stale_writes(), 1);
    assert!(zombie.owner != OwnerId::SOLE && zombie.view(1).is_some(), "it may still look");
    heir.verify();
}
