//! A store that fails: what is told, what waits, and that nothing is lost or runs twice by it.

use std::sync::Arc;
use std::time::Duration;

use taskyard::core::conductor::SubmitRefusal;
use taskyard::core::dispatch::Outcome;
use taskyard::core::store::StoreError;
use taskyard::core::worker::WorkerEnd;
use taskyard::testing::{BEGINNING, Faults, Shared, Toys, VirtualClock};
use taskyard::{NotTaken, Pool, StoreChoice, SubmitError, TaskHandle, Yard};
use taskyard_actors::in_flight::InFlight;

use crate::common::soon;
use crate::rig::{built, outcomes, submit_all, task};

/// A yard whose store fails as the test says, at times that the test says.
struct Rig {
    yard: Yard,
    toys: Toys,
    faults: Faults,
    clock: VirtualClock,
    in_flight: InFlight,
}

fn toys(by_hand: bool) -> Toys {
    let names = vec!["t".parse().expect("valid")];
    if by_hand { Toys::by_hand(1, names) } else { Toys::instant(1, names) }
}

impl Rig {
    async fn start() -> Self {
        Self::with(toys(true), Faults::default()).await
    }

    async fn with(toys: Toys, faults: Faults) -> Self {
        let (clock, in_flight) = (VirtualClock::at(BEGINNING), InFlight::default());
        let board = Shared::on(Arc::new(clock.clone()));
        let workers = toys.clone();
        let builder = Yard::builder()
            .store(StoreChoice::shared(&board).faulty(&faults))
            .pool(Pool::custom("all", move |_| workers.launcher()).pattern("#"));
        let yard = builder.clock(Arc::new(clock.clone()), in_flight.clone()).start().expect("starts");
        let rig = Self { yard, toys, faults, clock, in_flight };
        rig.quiet().await;
        rig
    }

    async fn quiet(&self) {
        soon(self.in_flight.quiet()).await;
    }

    async fn pass(&self, seconds: u32) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            self.quiet().await;
        }
    }

    /// Not awaited for ever: the store may fail.
    fn submit(&self) -> tokio::task::JoinHandle<Result<TaskHandle, SubmitError>> {
        let yard = self.yard.clone();
        tokio::spawn(async move { yard.submit_task(built(task("t", 0))).await })
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("made to fail".into())
}

fn done() -> WorkerEnd {
    WorkerEnd::Succeeded("1".into())
}

/// B17: for less than a lease, exactly at settle.
#[tokio::test]
async fn an_end_that_can_not_be_recorded_is_kept_until_it_can() {
    let rig = Rig::start().await;
    let mut handle = soon(rig.submit()).await.expect("no panic").expect("taken");
    rig.toys.started(handle.id()).await;
    rig.faults.break_down(gone());
    rig.toys.finish(handle.id(), done());
    rig.quiet().await;
    rig.pass(8).await;
    let status = rig.yard.store_status();
    assert_eq!(status.down.as_ref().map(|down| &down.why), Some(&gone()));
    assert!(!status.is_ready());

    rig.faults.mend();
    rig.pass(6).await;
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("1".into())));
    assert!(rig.yard.store_status().is_ready(), "{:?}", rig.yard.store_status());
}

/// B17: a submit waits for a store that fails, but not for ever, and gets its task back.
#[tokio::test]
async fn a_submit_waits_for_the_store_and_then_says_why() {
    let rig = Rig::start().await;
    rig.faults.break_down(gone());
    let patient = rig.submit();
    rig.pass(5).await;
    rig.faults.mend();
    rig.pass(6).await;
    let taken = soon(patient).await.expect("no panic").expect("the store came back in time");
    rig.toys.started(taken.id()).await;
    rig.toys.finish(taken.id(), done());
    rig.quiet().await;

    rig.faults.break_down(gone());
    let refused = rig.submit();
    while !refused.is_finished() {
        rig.pass(1).await;
    }
    let error = soon(refused).await.expect("no panic").expect_err("the store is gone");
    assert!(matches!(error.why, NotTaken::Refused(SubmitRefusal::Store(_))), "{error}");
    assert!(error.why.is_temporary() && error.to_string().contains("made to fail"), "{error}");
    rig.faults.mend();
    rig.pass(6).await;
    let again = rig.yard.submit_task(error.task);
    soon(again).await.expect("the same task is taken now");
}

/// B23, in small: what can't be written is refused at once.
#[tokio::test]
async fn a_full_disk_refuses_at_once() {
    let rig = Rig::start().await;
    assert!(rig.yard.store_status().owner.is_some(), "registered");
    rig.faults.break_down(StoreError::Unwritable("disk full".into()));
    let error = soon(rig.submit()).await.expect("no panic").expect_err("the disk is full");
    assert!(error.to_string().contains("disk full"), "{error}");
    rig.faults.mend();
    rig.pass(6).await;
    soon(rig.submit()).await.expect("no panic").expect("there is room again");
}

/// B17: for more than a lease, while nobody else takes over: what runs goes on and its end counts.
#[tokio::test]
async fn an_outage_longer_than_the_lease_costs_nothing_if_nobody_took_over() {
    let rig = Rig::start().await;
    let mut handle = soon(rig.submit()).await.expect("no panic").expect("taken");
    rig.toys.started(handle.id()).await;
    let owner = rig.yard.store_status().owner;
    rig.faults.break_down(gone());
    rig.pass(30).await;
    rig.toys.finish(handle.id(), done());
    rig.quiet().await;
    rig.faults.mend();
    rig.pass(6).await;
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("1".into())));
    let status = rig.yard.store_status();
    assert_eq!((status.owner, status.stale_writes), (owner, 0));
}

/// B17, by chance: requests and replies are lost, and each task ends once.
#[tokio::test]
async fn whatever_gets_lost_each_task_ends_once() {
    for seed in 0..8 {
        let rig = Rig::with(toys(false), Faults::seeded(seed, 4)).await;
        let yard = rig.yard.clone();
        let ended = tokio::spawn(async move {
            let batch = submit_all(&yard, (0..200).map(|number| task("t", number))).await;
            outcomes(batch).await
        });
        while !ended.is_finished() {
            rig.pass(1).await;
        }
        assert_eq!(soon(ended).await.expect("each ends").len(), 200);
    }
}
