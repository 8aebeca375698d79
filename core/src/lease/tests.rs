//! Scripts of a dispatcher's registration.

use super::*;
use crate::time::Timestamp;

const LEASE: Duration = Duration::from_secs(10);

struct Rig {
    lease: Lease,
    now: Now,
    asks: Vec<Ask>,
    told: Vec<String>,
}

impl Rig {
    fn new(strict: bool) -> Self {
        let registration = Registration { lease: LEASE, ..Registration::default() };
        let now = Now { mono: Instant64(0), wall: Timestamp(0) };
        Self { lease: Lease::new(Settings { registration, strict }), now, asks: Vec::new(), told: Vec::new() }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        self.lease.check_invariants();
        for effect in effects {
            match effect {
                Effect::Ask(ask) => self.asks.push(ask),
                Effect::Owned(owner) => self.told.push(format!("owner {owner}")),
                Effect::Disowned => self.told.push("disowned".into()),
                Effect::Marked(ids) => self.told.push(format!("{} marked", ids.len())),
                Effect::Hint(_) => self.told.push("hint".into()),
                Effect::Released => self.told.push("released".into()),
            }
        }
    }

    fn tell(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.lease.handle(self.now, event, &mut effects);
        self.take(effects);
    }

    /// Time passes; the lease is woken as it wishes. `pulse`: the Conductor is alive all the while.
    fn pass(&mut self, span: Duration, pulse: bool) {
        let end = self.now.mono + span;
        while self.now.mono < end {
            self.now.mono = end.min(self.now.mono + Duration::from_millis(100));
            if pulse {
                self.tell(Event::Pulse);
            }
            if self.lease.next_wakeup().is_due(self.now) {
                let mut effects = Vec::new();
                self.lease.wake(self.now, &mut effects);
                self.take(effects);
            }
        }
    }

    fn asked(&mut self) -> Vec<&'static str> {
        let name = |ask: &Ask| match &*ask.request {
            Request::Register(_) => "register",
            Request::Renew => "renew",
            Request::TakeOver { .. } => "take over",
            Request::Release => "release",
            other => panic!("{other:?}"),
        };
        self.asks.iter().map(name).collect()
    }

    fn answer(&mut self, answer: Result<Answer, StoreError>) {
        let no = self.asks.drain(..).next_back().expect("something was asked").no;
        self.tell(Event::Reply(Box::new(Reply { to: Asker::Lease, no, answer, status: Status::default() })));
    }

    fn renewed(&mut self, lapsed: bool) {
        self.answer(Ok(Answer::Renewed(Renewal { marked: Vec::new(), lapsed })));
    }

    fn registered(strict: bool) -> Self {
        let mut rig = Self::new(strict);
        rig.tell(Event::Pulse);
        assert_eq!(rig.asked(), ["register"]);
        rig.answer(Ok(Answer::Registered(OwnerId(1))));
        assert_eq!(rig.told.split_off(0), ["owner 1"]);
        assert_eq!(rig.asked(), ["renew"], "at once, to see who left something behind");
        rig.renewed(false);
        assert_eq!(rig.asked(), [""; 0]);
        rig
    }
}

#[test]
fn it_registers_at_the_first_sign_of_life_and_renews_three_times_a_lease() {
    let mut rig = Rig::registered(false);
    for _ in 0..6 {
        rig.pass(LEASE / 3, true);
        assert_eq!(rig.asked(), ["renew"]);
        assert_eq!(rig.asks[0].owner, OwnerId(1));
        rig.renewed(false);
    }
    assert!(rig.told.is_empty());
}

/// B4
#[test]
fn a_dead_conductor_is_not_kept_alive() {
    let mut rig = Rig::registered(false);
    rig.pass(LEASE * 9 / 10, false);
    assert!(!rig.asked().is_empty(), "silent for less than a lease, it may only be busy");
    rig.asks.clear();
    rig.pass(LEASE, false);
    rig.asks.clear();
    rig.pass(LEASE * 3, false);
    assert_eq!(rig.asked(), [""; 0]);
    assert_eq!(rig.lease.next_wakeup(), Wakeup::NEVER);
    rig.pass(LEASE / 3, true);
    assert_eq!(rig.asked().first(), Some(&"renew"), "it asks whether it still is who it was");
}

/// B17
#[test]
fn a_failing_store_is_asked_again_and_a_lax_lease_waits_for_its_verdict() {
    let mut rig = Rig::registered(false);
    rig.pass(LEASE / 3, true);
    rig.answer(Err(StoreError::Unavailable("locked".into())));
    rig.pass(LEASE * 2, true);
    assert!(rig.asked().len() > 5 && rig.asked().iter().all(|asked| *asked == "renew"));
    assert!(rig.told.is_empty());
    rig.answer(Err(StoreError::Fenced));
    assert_eq!(rig.told, ["disowned"]);
    assert_eq!(rig.asked(), ["register"]);
}

/// B17
#[test]
fn a_strict_lease_is_given_up_a_second_before_it_ends_counted_from_the_asking() {
    let mut rig = Rig::registered(true);
    rig.pass(LEASE / 3, true);
    let asked = rig.lease.asked;
    rig.pass(Duration::from_secs(1), true);
    rig.renewed(false);
    rig.asks.clear();
    let left = (asked + LEASE - MARGIN).since(rig.now.mono);
    rig.pass(Duration::from_micros(left as u64 - 100_000), true);
    assert!(rig.told.is_empty());
    rig.pass(Duration::from_millis(200), true);
    assert_eq!(rig.told, ["disowned"]);
    assert_eq!(rig.asked().last(), Some(&"register"));
}

#[test]
fn a_late_answer_to_an_owner_that_gave_up_counts_for_nothing() {
    let mut rig = Rig::registered(true);
    rig.pass(LEASE / 3, true);
    let late = rig.asks[0].no;
    rig.pass(LEASE, true);
    assert_eq!(rig.told, ["disowned"]);
    let answer = Ok(Answer::Renewed(Renewal::default()));
    rig.tell(Event::Reply(Box::new(Reply { to: Asker::Lease, no: late, answer, status: Status::default() })));
    rig.answer(Ok(Answer::Registered(OwnerId(2))));
    assert_eq!(rig.told, ["disowned", "owner 2"]);
}

#[test]
fn it_takes_over_in_batches_and_renews_in_between() {
    let mut rig = Rig::registered(false);
    rig.pass(LEASE / 3, true);
    rig.renewed(true);
    for _ in 0..3 {
        assert_eq!(rig.asked(), ["take over"]);
        rig.answer(Ok(Answer::TakenOver { returned: 1_000, more: true }));
    }
    rig.pass(LEASE / 3, true);
    rig.answer(Ok(Answer::TakenOver { returned: 5, more: true }));
    assert_eq!(rig.asked(), ["renew"], "its own lease goes first");
    rig.renewed(true);
    rig.answer(Ok(Answer::TakenOver { returned: 0, more: false }));
    assert_eq!(rig.asked(), [""; 0]);
    assert_eq!(rig.told, ["hint"; 4]);
}

#[test]
fn now_and_then_it_takes_over_from_whoever_left_nothing_but_a_registration() {
    let mut rig = Rig::registered(false);
    let mut take_overs = Vec::new();
    // One renewal was before.
    for renewal in 2..=60 {
        rig.pass(LEASE / 3, true);
        assert_eq!(rig.asked(), ["renew"]);
        rig.renewed(false);
        if rig.asked() == ["take over"] {
            take_overs.push(renewal);
            rig.answer(Ok(Answer::TakenOver { returned: 0, more: false }));
        }
    }
    assert_eq!(take_overs, [30, 60]);
}

#[test]
fn it_goes_when_all_is_settled() {
    let mut rig = Rig::registered(false);
    rig.tell(Event::Release);
    assert_eq!(rig.asked(), ["release"]);
    rig.answer(Ok(Answer::Released));
    assert_eq!(rig.told, ["released"]);
    rig.pass(LEASE * 2, true);
    assert_eq!(rig.asked(), [""; 0]);
    let mut never = Rig::new(false);
    never.tell(Event::Release);
    assert_eq!(never.told, ["released"]);
}

/// B5
#[test]
fn cancel_marks_are_passed_on() {
    let mut rig = Rig::registered(false);
    rig.pass(LEASE / 3, true);
    rig.answer(Ok(Answer::Renewed(Renewal { marked: vec![TaskId(1), TaskId(2)], lapsed: false })));
    assert_eq!(rig.told, ["2 marked"]);
}

/// A take-over that the store fails again and again, or does not answer, must not cost the registration.
#[test]
fn a_take_over_that_fails_does_not_starve_the_renewal() {
    for is_answered in [true, false] {
        let mut rig = Rig::registered(true);
        let mut renewals = 0;
        for _ in 0..200 {
            rig.pass(Duration::from_millis(100), true);
            match rig.asked().last() {
                Some(&"renew") => {
                    renewals += 1;
                    rig.renewed(true);
                }
                Some(&"take over") if is_answered => {
                    rig.answer(Err(StoreError::Unavailable("too slow".into())));
                }
                _ => {}
            }
        }
        assert!(renewals > 3 && rig.told.is_empty(), "{renewals} renewals in 20 s; told {:?}", rig.told);
    }
}

#[test]
fn who_leaves_during_an_outage_is_let_go() {
    let mut rig = Rig::registered(true);
    rig.pass(LEASE, true);
    assert_eq!(rig.told, ["disowned"]);
    rig.tell(Event::Release);
    rig.pass(LEASE / 2, true);
    rig.answer(Err(StoreError::Unavailable("gone".into())));
    assert_eq!(
        rig.told,
        ["disowned"],
        "an earlier try may have registered it, and then that is to be undone"
    );
    rig.pass(LEASE, true);
    assert_eq!(rig.told, ["disowned", "released"]);

    for strict in [false, true] {
        let mut rig = Rig::registered(strict);
        rig.tell(Event::Release);
        rig.pass(LEASE / 2, true);
        assert!(rig.told.is_empty());
        rig.pass(LEASE, true);
        assert_eq!(rig.told, ["released"], "by then the others have taken over");
    }
}
