//! Due times on both clocks, cancel and drain of the Delayer, event by event.

use std::sync::Arc;

use super::{Delayer, Effect, Event};
use crate::dispatch::{Cancel, Dispatch, End, Ended, Reason, Return};
use crate::keys::fixture::{self, name};
use crate::live::{Live, Stage as At};
use crate::machine::{Machine, Stage};
use crate::task::{DueAt, KeyLimits};
use crate::time::{Instant64, Now, Timestamp};

/// The wall clock is so far ahead of the monotonic one until it steps.
const EPOCH: i64 = 1_700_000_000_000_000;

fn now(at: i64) -> Now {
    Now { mono: Instant64(at), wall: Timestamp(EPOCH + at) }
}

fn mono(at: i64) -> DueAt {
    DueAt::Mono(Instant64(at))
}

fn wall(at: i64) -> DueAt {
    DueAt::Wall(Timestamp(EPOCH + at))
}

fn task(n: u64, due: DueAt) -> Dispatch {
    Dispatch { due, ..fixture::dispatch(n, None, KeyLimits::PARALLEL) }
}

/// A Delayer at time 0 that was given these.
fn holding(tasks: impl IntoIterator<Item = Dispatch>) -> Delayer {
    let mut delayer = Delayer::default();
    for dispatch in tasks {
        assert_eq!(tell(&mut delayer, now(0), Event::Dispatch(Box::new(dispatch))).len(), 0);
    }
    delayer
}

fn tell(delayer: &mut Delayer, now: Now, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    delayer.handle(now, event, &mut effects);
    delayer.check_invariants();
    effects
}

/// What is released by a wake-up; each release is announced first.
fn wake(delayer: &mut Delayer, now: Now) -> Vec<u64> {
    let mut effects = Vec::new();
    delayer.wake(now, &mut effects);
    delayer.check_invariants();
    released(&effects)
}

fn released(effects: &[Effect]) -> Vec<u64> {
    let pair = |pair: &[Effect]| match pair {
        [Effect::Due(due), Effect::Release(dispatch)] => {
            assert_eq!(*due, dispatch.name());
            due.id.0 as u64
        }
        other => panic!("{other:?}"),
    };
    effects.chunks(2).map(pair).collect()
}

/// D1
#[test]
fn what_is_due_goes_straight_on() {
    let mut delayer = Delayer::default();
    let effects = tell(&mut delayer, now(5), Event::Dispatch(Box::new(task(1, DueAt::Now))));
    assert!(matches!(effects[..], [Effect::Release(_)]), "it was never delayed, so nothing is announced");
    for due in [mono(5), wall(5), wall(-9)] {
        let effects = tell(&mut delayer, now(5), Event::Dispatch(Box::new(task(2, due))));
        assert_eq!(released(&effects), [2]);
    }
    assert!(delayer.is_empty());
}

/// D2
#[test]
fn nothing_goes_early_on_either_clock() {
    let mut delayer = holding([task(1, mono(100)), task(2, wall(200))]);
    assert_eq!(delayer.get(&name(1).id).unwrap().live.stage(), At::Delayed);
    let wakeup = delayer.next_wakeup();
    assert_eq!(wakeup.mono, Some(Instant64(100)));
    assert_eq!(wakeup.wall, Some(Timestamp(EPOCH + 200)));
    assert_eq!(wake(&mut delayer, now(99)), [0; 0]);
    assert_eq!(wake(&mut delayer, now(100)), [1]);
    assert_eq!(wake(&mut delayer, now(199)), [0; 0]);
    assert_eq!(wake(&mut delayer, now(200)), [2]);
}

#[test]
fn what_is_overdue_goes_in_order_of_due_time_and_then_of_arrival() {
    let tasks = [
        task(1, wall(300)),
        task(2, mono(100)),
        task(3, wall(100)),
        task(4, mono(200)),
        task(6, mono(400)),
        task(5, wall(400)),
    ];
    assert_eq!(wake(&mut holding(tasks), now(500)), [2, 3, 4, 1, 5, 6]);
}

/// D3
#[test]
fn a_step_of_the_wall_clock_lets_go_absolute_times_only() {
    let hour = 3_600_000_000;
    let tasks = [task(1, wall(hour)), task(2, mono(1_000)), task(3, wall(hour / 2)), task(4, wall(hour + 9))];
    let mut delayer = holding(tasks);
    let stepped = Now { mono: Instant64(10), wall: Timestamp(EPOCH + hour) };
    assert_eq!(wake(&mut delayer, stepped), [3, 1], "in order, and once");
    assert_eq!(wake(&mut delayer, stepped), [0; 0]);
    assert_eq!(delayer.len(), 2);
}

/// D3
#[test]
fn a_step_back_delays_absolute_times_only() {
    let mut delayer = holding([task(1, wall(100)), task(2, mono(100))]);
    let back = Now { mono: Instant64(100), wall: Timestamp(EPOCH - 1_000_000) };
    assert_eq!(wake(&mut delayer, back), [2]);
    assert_eq!(wake(&mut delayer, now(100)), [1]);
}

/// D8
#[test]
fn a_cancel_takes_out_what_is_held_and_passes_others_by() {
    let first = task(1, mono(100));
    let cancel = fixture::cancel(&first);
    let mut delayer = holding([first, task(2, wall(100))]);
    let effects = tell(&mut delayer, now(1), Event::Cancel(cancel.clone()));
    assert!(
        matches!(&effects[..], [Effect::Ended(Ended { dispatch, end: End::Cancelled })] if dispatch.name() == name(1))
    );
    let effects = tell(&mut delayer, now(1), Event::Cancel(cancel));
    assert!(matches!(&effects[..], [Effect::Cancel(cancel)] if cancel.name() == name(1)));
    assert_eq!(wake(&mut delayer, now(100)), [2]);
}

/// D18: what is preloaded for a pool that takes nothing goes back, and so does what another yard has now.
#[test]
fn what_is_to_be_parked_or_is_another_s_is_given_back_unpenalised() {
    for reason in [Reason::Park, Reason::Disowned] {
        let held = task(1, wall(100));
        let cancel = Cancel { live: Arc::clone(&held.live), reason };
        let mut delayer = holding([held]);
        let effects = tell(&mut delayer, now(1), Event::Cancel(cancel));
        let back = matches!(
            &effects[..],
            [Effect::Ended(Ended { dispatch, end: End::Returned(Return::Drain) })]
                if dispatch.due == wall(100)
        );
        assert!(back && delayer.is_empty(), "{effects:?}");
    }
}

#[test]
fn a_cancel_of_an_earlier_pass_goes_on_and_leaves_this_one() {
    let mut second = task(1, mono(100));
    let late = fixture::cancel(&second);
    second.live = Arc::new(Live::new(Arc::clone(&second.live.task), 1, Timestamp(0), 2, 2));
    let mut delayer = holding([second]);
    let effects = tell(&mut delayer, now(1), Event::Cancel(late));
    assert!(matches!(&effects[..], [Effect::Cancel(_)]));
    assert_eq!(wake(&mut delayer, now(100)), [1]);
}

/// D18
#[test]
fn a_drain_gives_everything_back_before_the_mark_goes_on() {
    let mut delayer = holding([task(1, mono(100)), task(2, wall(100))]);
    let effects = tell(&mut delayer, now(1), Event::Drain);
    let back = |effect: &Effect| match effect {
        Effect::Ended(Ended { dispatch, end: End::Returned(Return::Drain) }) => dispatch.id().0 as u64,
        other => panic!("{other:?}"),
    };
    assert_eq!(effects[..2].iter().map(back).collect::<Vec<_>>(), [1, 2]);
    assert!(matches!(effects[2..], [Effect::Drain]));
    assert_eq!(delayer.next_wakeup(), crate::Wakeup::NEVER);
}
