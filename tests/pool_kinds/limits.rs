//! Tasks that are told to end: by their time limit, or by somebody; and those that do not listen.

use std::sync::Arc;
use std::time::Duration;

use taskyard::core::TaskId;
use taskyard::core::conductor::CancelAnswer;
use taskyard::core::dispatch::Failure;
use taskyard::testing::{BEGINNING, VirtualClock};
use taskyard::{Builder, TaskFailed, Yard};
use taskyard_actors::in_flight::InFlight;

use crate::common::gate::Gate;
use crate::common::handlers::{Echo, Hang, News, attempts};
use crate::common::soon;
use crate::ends::again;
use crate::handlers::{Deaf, Meet};
use crate::kinds::Kind;

const LIMIT: Duration = Duration::from_hours(1);

/// Waits until the yard knows that it runs, which it may hear after the task was heard at its gate.
pub(crate) async fn is_running(yard: &Yard, id: TaskId) {
    while yard.live(id).is_none_or(|live| live.running().is_none()) {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_task_is_ended_when_its_time_is_up(kind: Kind) {
    let (gate, test) = (Gate::open(), kind.on_a_clock());
    let meet = test.yard().submit(Meet::at(&gate, 1)).timeout(LIMIT).retry(attempts(1));
    let mut task = soon(meet).await.expect("taken");
    let _guest = gate.next().await;
    is_running(test.yard(), task.id()).await;
    soon(test.advance(LIMIT)).await;
    let failed = soon(task.outcome()).await.expect_err("fails");
    assert_eq!(failed.last_failure(), Some(&Failure::TimedOut), "{failed:?}");
}

pub(crate) async fn a_time_out_is_an_attempt_and_the_next_one_has_its_own(kind: Kind) {
    let (gate, test) = (Gate::open(), kind.on_a_clock());
    let meet = test.yard().submit(Meet::at(&gate, 1)).timeout(LIMIT).retry(attempts(2));
    let mut task = soon(meet).await.expect("taken");
    let mut news = test.yard().observe();
    let _first = gate.next().await;
    is_running(test.yard(), task.id()).await;
    soon(test.advance(LIMIT)).await;
    let pause = again(&mut news).await.expect("tried again").0 - test.now().0;
    soon(test.advance(Duration::from_micros(pause as u64))).await;
    let second = gate.next().await;
    is_running(test.yard(), task.id()).await;
    soon(test.advance(LIMIT / 2)).await;
    second.release();
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), (2, 2));
}

pub(crate) async fn a_running_task_tells_its_progress_and_is_cancelled(kind: Kind) {
    let yard = kind.yard();
    let mut news = News::of(&yard);
    let mut task = soon(yard.submit(Hang)).await.expect("taken");
    assert_eq!(news.echo().await, "hangs");
    let progress = yard.live(task.id()).expect("it runs").progress().expect("it said so");
    assert_eq!((progress.fraction, progress.note.as_deref()), (0.5, Some("half")));

    assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Running));
    assert!(matches!(soon(task.outcome()).await, Err(TaskFailed::Cancelled)));
}

/// One slot, whose worker gets SIGTERM and SIGKILL (or what stands in their place) as soon as a task is told to end.
fn strict(kind: &Kind) -> Builder {
    kind.builder(kind.single().grace(Duration::ZERO).kill_after(Duration::ZERO))
}

async fn runs_the_next(yard: &Yard) {
    let mut next = soon(yard.submit(Echo("next".into()))).await.expect("taken");
    assert_eq!(soon(next.outcome()).await.expect("runs"), "next");
}

pub(crate) async fn a_task_that_hears_nothing_is_timed_out_and_its_slot_comes_back(kind: Kind) {
    let (gate, clock) = (Gate::open(), VirtualClock::at(BEGINNING));
    // On a clock of its own: a handler that blocks lets no test yard be quiet.
    let yard = strict(&kind).clock(Arc::new(clock.clone()), InFlight::default()).start().expect("starts");
    let deaf = yard.submit(Deaf::at(&gate)).timeout(LIMIT).retry(attempts(1));
    let mut task = soon(deaf).await.expect("taken");
    let mut guest = gate.next().await;
    is_running(&yard, task.id()).await;
    clock.advance(LIMIT);
    let failed = soon(task.outcome()).await.expect_err("fails");
    assert_eq!(failed.last_failure(), Some(&Failure::TimedOut), "{failed:?}");
    if kind.deaf.is_over_at_its_end {
        guest.gone().await;
    }
    runs_the_next(&yard).await;
    assert_eq!(guest.is_there(), !kind.deaf.is_over_at_its_end, "{}", kind.deaf.because);
}

pub(crate) async fn a_cancel_of_a_task_that_hears_nothing_ends_it_if_anything_can(kind: Kind) {
    let (gate, yard) = (Gate::open(), strict(&kind).start().expect("starts"));
    let mut task = soon(yard.submit(Deaf::at(&gate))).await.expect("taken");
    let guest = gate.next().await;
    is_running(&yard, task.id()).await;
    assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Running));
    if kind.deaf.can_be_cancelled {
        let outcome = soon(task.outcome()).await;
        assert!(matches!(outcome, Err(TaskFailed::Cancelled)), "{outcome:?}");
    } else {
        guest.release();
        soon(task.outcome()).await.expect(kind.deaf.because);
    }
    runs_the_next(&yard).await;
}
