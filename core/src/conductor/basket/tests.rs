//! When the board is looked at.

use super::*;

const HORIZON: Duration = Duration::from_secs(2);
const START: i64 = 1_000_000_000;

struct Keeper {
    basket: Basket,
    now: Now,
}

impl Keeper {
    fn new(shared: bool) -> Self {
        let pools = [crate::id::PoolId(0)].into_iter().collect();
        let now = Now { mono: Instant64(0), wall: Timestamp(START) };
        Self { basket: Basket::new(HORIZON, pools, shared), now }
    }

    fn pass(&mut self, span: Duration) {
        (self.now.mono, self.now.wall) = (self.now.mono + span, self.now.wall + span);
    }

    /// To the time at which it wants to look, and what it wants then.
    fn wake(&mut self) -> (Duration, Chores) {
        let sleep = self.basket.next_wakeup().sleep(self.now).expect("it waits for something");
        self.pass(sleep);
        (sleep, self.basket.look(self.now))
    }

    /// The first parked row is due then, counted from the start.
    fn head(&mut self, due: Option<Duration>) {
        let next_due = due.map(|due| Timestamp(START) + due);
        self.basket.stands(&Status { next_due, ..Status::default() });
    }

    fn promoted(&mut self, head: Option<Duration>) {
        self.head(head);
        self.basket.promoted(self.now, 0);
    }
}

const PROMOTE: Chores = Chores { promote: true, prune: false };
const PRUNE_ONLY: Chores = Chores { promote: false, prune: true };

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn it_sleeps_until_the_head_is_near_and_again_until_it_is_due() {
    let mut keeper = Keeper::new(false);
    assert_eq!(keeper.basket.next_wakeup(), Wakeup::NEVER);
    keeper.head(Some(seconds(10)));
    let (slept, chores) = keeper.wake();
    assert_eq!(slept, seconds(8) + Duration::from_micros(1), "due in exactly the horizon it stays parked");
    assert_eq!((chores, keeper.basket.near.is_empty()), (Chores::default(), false));
    assert_eq!(keeper.wake(), (Duration::from_micros(1_999_999), PROMOTE));
    keeper.promoted(None);
    assert_eq!(keeper.basket.next_wakeup(), Wakeup::NEVER);
}

#[test]
fn an_earlier_insert_wakes_it() {
    let mut keeper = Keeper::new(false);
    keeper.head(Some(seconds(60)));
    keeper.head(Some(seconds(5)));
    assert_eq!(keeper.wake().0, seconds(3) + Duration::from_micros(1));
}

#[test]
fn it_promotes_batch_after_batch_without_a_pause_while_the_head_moves() {
    let mut keeper = Keeper::new(false);
    keeper.head(Some(seconds(0)));
    keeper.pass(seconds(5));
    for head in 1..4 {
        assert_eq!(keeper.basket.look(keeper.now), PROMOTE);
        assert_eq!(keeper.basket.look(keeper.now), Chores::default(), "one at a time");
        keeper.promoted(Some(seconds(head)));
    }
}

/// Seen: of three thousand overdue rows the second thousand came as near ones, and ran before the first.
#[test]
fn what_is_due_is_promoted_before_what_is_near_is_asked_for() {
    let mut keeper = Keeper::new(false);
    let wants_near = |keeper: &Keeper| keeper.basket.wants_near(keeper.now, crate::id::PoolId(0));
    keeper.head(Some(seconds(0)));
    assert_eq!(keeper.basket.look(keeper.now), PROMOTE);
    assert!(!wants_near(&keeper), "one promotion may not bring all");
    keeper.promoted(Some(seconds(1)));
    assert!(wants_near(&keeper));
}

/// A store whose clock is behind says that a row is due and does not promote it.
#[test]
fn a_promotion_that_brings_nothing_is_repeated_after_a_growing_pause() {
    let mut keeper = Keeper::new(false);
    keeper.head(Some(seconds(0)));
    assert_eq!(keeper.basket.look(keeper.now), PROMOTE);
    let mut before = Duration::ZERO;
    for _ in 0..100 {
        keeper.promoted(Some(seconds(0)));
        assert_eq!(keeper.basket.look(keeper.now), Chores::default());
        let (slept, chores) = keeper.wake();
        assert_eq!(chores, PROMOTE);
        assert!(slept >= Duration::from_millis(10) && slept > before, "{slept:?} after {before:?}");
        before = slept;
    }
    keeper.basket.goes_on();
    keeper.promoted(Some(seconds(0)));
    assert_eq!(
        keeper.wake().0,
        Duration::from_millis(10).max(before.min(seconds(0)) + Duration::from_millis(10))
    );
}

/// B18
#[test]
fn a_shared_board_is_looked_at_every_five_seconds_though_nobody_said_a_word() {
    let mut keeper = Keeper::new(true);
    assert_eq!(keeper.wake(), (Duration::ZERO, PROMOTE), "what was there before is found at once");
    for _ in 0..5 {
        keeper.promoted(None);
        assert_eq!(keeper.wake(), (seconds(5), PROMOTE));
    }
    keeper.promoted(None);
    keeper.basket.poll_at_once();
    assert_eq!(keeper.wake(), (Duration::ZERO, PROMOTE));
}

#[test]
fn a_shared_board_forgets_once_a_minute_and_goes_on_while_there_is_more() {
    let mut keeper = Keeper::new(true);
    assert_eq!(keeper.basket.look(keeper.now), PROMOTE);
    assert_eq!(keeper.wake(), (seconds(60), PRUNE_ONLY), "no promotion is answered yet");
    assert_eq!(keeper.basket.next_wakeup(), Wakeup::NEVER);
    keeper.basket.pruned(keeper.now, true);
    assert_eq!(keeper.wake(), (seconds(0), PRUNE_ONLY));
    keeper.basket.pruned(keeper.now, false);
    assert_eq!(keeper.wake(), (seconds(60), PRUNE_ONLY));
}
