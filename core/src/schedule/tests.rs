//! Scripts for schedules.

use super::*;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * SECOND)
}

fn seconds(ticks: &[Timestamp]) -> Vec<i64> {
    ticks.iter().map(|tick| tick.0 / SECOND).collect()
}

fn every(interval_s: u64) -> Every {
    Every::new(Duration::from_secs(interval_s), at(0)).unwrap()
}

fn schedule(interval_s: u64, catch_up: CatchUp) -> Schedule {
    Schedule::new("nightly", Box::new(every(interval_s)), catch_up, Duration::ZERO, at(0))
}

/// Ticks at the given seconds, as a calendar might give them.
struct Listed(&'static [i64]);

impl Ticks for Listed {
    fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        self.0.iter().map(|second| at(*second)).find(|tick| *tick > time)
    }
}

#[test]
fn each_tick_is_due_once_and_never_early() {
    let mut schedule = schedule(10, CatchUp::Skip);
    assert_eq!(schedule.next_wakeup(), Wakeup::wall(Some(at(10))));
    assert_eq!(schedule.due(Timestamp(10 * SECOND - 1)), []);
    assert_eq!(seconds(&schedule.due(at(10))), [10]);
    assert_eq!(schedule.due(at(11)), []);
    assert_eq!(schedule.next_wakeup(), Wakeup::wall(Some(at(20))));
    assert_eq!(seconds(&schedule.due(at(21))), [20], "a little late");
}

/// D20: stopped for three ticks.
#[test]
fn missed_ticks_are_skipped_run_once_or_all_run() {
    for (catch_up, expected) in
        [(CatchUp::Skip, vec![]), (CatchUp::One, vec![3]), (CatchUp::All, vec![1, 2, 3])]
    {
        let mut schedule = schedule(3_600, catch_up);
        let due = schedule.due(Timestamp(3 * HOUR + HOUR / 2));
        assert_eq!(
            due,
            expected.iter().map(|hour| Timestamp(hour * HOUR)).collect::<Vec<_>>(),
            "{catch_up:?}"
        );
        assert_eq!(schedule.next_wakeup(), Wakeup::wall(Some(Timestamp(4 * HOUR))), "{catch_up:?}");
        assert_eq!(schedule.due(Timestamp(4 * HOUR)), [Timestamp(4 * HOUR)], "{catch_up:?}");
    }
}

/// D20: a tick that is just due is not missed, though those before it are.
#[test]
fn the_last_tick_still_runs_within_a_minute() {
    assert_eq!(schedule(3_600, CatchUp::Skip).due(Timestamp(3 * HOUR) + MISSED_AFTER), [Timestamp(3 * HOUR)]);
    assert_eq!(schedule(3_600, CatchUp::Skip).due(Timestamp(3 * HOUR + 61 * SECOND)), []);
    assert_eq!(seconds(&schedule(1, CatchUp::Skip).due(at(100))), [100]);
}

#[test]
fn all_is_bounded_and_keeps_the_newest() {
    let due = schedule(1, CatchUp::All).due(at(40_000_000));
    assert_eq!(due.len(), CATCH_UP_MAX);
    assert_eq!((due[0], due[CATCH_UP_MAX - 1]), (at(40_000_000 - 999), at(40_000_000)));
}

#[test]
fn no_tick_runs_twice_after_the_clock_stepped_back() {
    let mut schedule = schedule(10, CatchUp::All);
    assert_eq!(seconds(&schedule.due(at(30))), [10, 20, 30]);
    for now in [5, 10, 20, 25, 30, 39] {
        assert_eq!(schedule.due(at(now)), [], "{now}");
        assert_eq!(schedule.next_wakeup(), Wakeup::wall(Some(at(40))));
    }
    assert_eq!(seconds(&schedule.due(at(40))), [40]);
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let mut before = schedule(10, CatchUp::All);
    before.due(at(20));
    let mut after =
        Schedule::new("nightly", Box::new(every(10)), CatchUp::All, Duration::ZERO, before.done());
    assert_eq!(seconds(&after.due(at(40))), [30, 40]);
}

/// D20: in a gap there is one tick less, in a fold one more; a schedule asks its ticks and counts nothing itself.
#[test]
fn uneven_ticks_are_found_one_by_one() {
    let mut schedule = Schedule::new(
        "nightly",
        Box::new(Listed(&[1, 2, 500, 501, 90_000])),
        CatchUp::All,
        Duration::ZERO,
        at(1),
    );
    assert_eq!(seconds(&schedule.due(at(600))), [2, 500, 501]);
    assert_eq!(seconds(&schedule.due(at(1_000_000))), [90_000]);
    assert_eq!(schedule.next_wakeup(), Wakeup::NEVER, "there is no more");
    assert_eq!(schedule.due(Timestamp(i64::MAX)), []);
}

#[test]
fn jitter_is_the_same_at_every_look_and_differs_by_name_and_tick() {
    let start = |name: &str, tick| {
        let schedule =
            Schedule::new(name, Box::new(every(3_600)), CatchUp::Skip, Duration::from_mins(10), Timestamp(0));
        schedule.start(Timestamp(tick * HOUR)).since(Timestamp(tick * HOUR))
    };
    assert_eq!(start("a", 1), start("a", 1));
    assert_ne!(start("a", 1), start("b", 1));
    assert_ne!(start("a", 1), start("a", 2));
    let spread: Vec<_> = (1..=200).map(|tick| start("a", tick)).collect();
    assert!(spread.iter().all(|offset| (0..600 * SECOND).contains(offset)));
    assert!(
        spread.iter().any(|offset| *offset < 60 * SECOND)
            && spread.iter().any(|offset| *offset > 540 * SECOND)
    );
}

#[test]
fn a_tick_waits_for_its_jitter_but_never_up_to_the_next_one() {
    let mut schedule =
        Schedule::new("nightly", Box::new(every(10)), CatchUp::All, Duration::from_hours(1), at(0));
    let mut ran = Vec::new();
    for _ in 0..50 {
        let wake = schedule.next_wakeup().wall.unwrap();
        assert_eq!(schedule.due(Timestamp(wake.0 - 1)), [], "early");
        let due = schedule.due(wake);
        assert!(due.len() == 1 && wake.since(due[0]) < 10 * SECOND, "{due:?} {wake:?}");
        ran.extend(due);
    }
    assert_eq!(seconds(&ran), (1..=50).map(|n| n * 10).collect::<Vec<_>>());
}

#[test]
fn intervals_count_from_their_anchor_to_the_end_of_time() {
    let every = Every::new(Duration::from_secs(7), at(100)).unwrap();
    assert_eq!(every.next_after(Timestamp(i64::MIN)), Some(at(100)));
    assert_eq!(every.next_after(Timestamp(100 * SECOND - 1)), Some(at(100)));
    assert_eq!(every.next_after(at(100)), Some(at(107)));
    assert_eq!(every.next_after(at(113)), Some(at(114)));
    assert_eq!(every.next_after(Timestamp(i64::MAX)), None);
    assert_eq!(Every::new(Duration::ZERO, at(0)), None);
}
