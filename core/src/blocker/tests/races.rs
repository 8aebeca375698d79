//! Messages that cross each other on the way.

use super::world::{Role, World};
use crate::blocker::{Blocker, Effect, Event};
use crate::dispatch::{Dispatch, DispatchName, End, Reason, Return};
use crate::keys::fixture::{KEY, cancel, dispatch, name};
use crate::keys::{KeyAnswer, Verdict};
use crate::live::{self, Live};
use crate::machine::{Machine, Stage};
use crate::task::{DueAt, KeyLimits};
use crate::time::Now;

/// A Blocker alone; the test answers its questions.
#[derive(Default)]
struct Script(Blocker);

impl Script {
    fn tell(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.0.handle(Now::default(), event, &mut effects);
        self.0.check_invariants();
        effects
    }

    fn submit(&mut self, n: u64) -> Vec<Effect> {
        self.tell(Event::Dispatch(Box::new(dispatch(n, Some(KEY), KeyLimits::SERIAL))))
    }

    fn answer(&mut self, n: u64, answer: KeyAnswer) -> Vec<Effect> {
        self.tell(Event::Verdict(Verdict { key: KEY, name: name(n), answer }))
    }

    fn occupied(&mut self, n: u64) -> Vec<Effect> {
        self.answer(n, KeyAnswer::Occupied { holder: name(99).id })
    }

    fn cancel(&mut self, n: u64) -> Vec<Effect> {
        self.tell(Event::Cancel(cancel(&dispatch(n, Some(KEY), KeyLimits::SERIAL))))
    }
}

fn is_ask(effect: &Effect, n: u64, others_wait: bool) -> bool {
    matches!(effect, Effect::Ask(question) if question.name == name(n) && question.others_wait == others_wait)
}

fn is_pass(effect: &Effect, n: u64) -> bool {
    matches!(effect, Effect::Pass(dispatch) if dispatch.name() == name(n))
}

fn is_end(effect: &Effect, n: u64, end: &End) -> bool {
    matches!(effect, Effect::Ended(ended) if ended.dispatch.name() == name(n) && ended.end == *end)
}

#[test]
fn one_question_is_outstanding_and_later_arrivals_are_not_announced() {
    let mut script = Script::default();
    assert!(matches!(&script.submit(2)[..], [ask] if is_ask(ask, 2, false)));
    assert!(script.submit(3).is_empty());
    assert!(script.submit(1).is_empty());
    let effects = script.occupied(2);
    assert!(
        matches!(&effects[..], [Effect::Blocked(who), ask] if *who == name(2) && is_ask(ask, 1, true)),
        "{effects:?}"
    );
}

#[test]
fn after_a_grant_the_next_is_asked_for() {
    let mut script = Script::default();
    script.submit(1);
    script.submit(2);
    let effects = script.answer(1, KeyAnswer::Granted);
    assert!(matches!(&effects[..], [pass, ask] if is_pass(pass, 1) && is_ask(ask, 2, false)), "{effects:?}");
}

#[test]
fn a_stale_answer_makes_it_ask_for_the_first_in_order() {
    let mut script = Script::default();
    script.submit(1);
    script.occupied(1);
    assert!(matches!(&script.submit(2)[..], [ask] if is_ask(ask, 2, true)));
    assert!(script.tell(Event::Freed(KEY)).is_empty(), "a question is outstanding");
    assert!(matches!(&script.answer(2, KeyAnswer::Stale)[..], [ask] if is_ask(ask, 1, false)));
    let effects = script.answer(1, KeyAnswer::Granted);
    assert!(
        matches!(&effects[..], [Effect::Unblocked(_), pass, ask] if is_pass(pass, 1) && is_ask(ask, 2, false))
    );
}

#[test]
fn a_waiting_one_that_meets_an_occupied_key_again_is_announced_once() {
    let mut script = Script::default();
    script.submit(1);
    script.occupied(1);
    assert!(matches!(&script.tell(Event::Freed(KEY))[..], [ask] if is_ask(ask, 1, false)));
    assert!(script.occupied(1).is_empty());
    assert_eq!(script.0.len(), 1);
}

#[test]
fn a_grant_for_a_cancelled_dispatch_is_released_at_once() {
    let mut script = Script::default();
    script.submit(1);
    script.submit(2);
    assert!(matches!(&script.cancel(1)[..], [end] if is_end(end, 1, &End::Cancelled)));
    let effects = script.answer(1, KeyAnswer::Granted);
    assert!(
        matches!(&effects[..], [Effect::Release { key: KEY, name: who }, ask] if *who == name(1) && is_ask(ask, 2, false)),
        "{effects:?}"
    );
}

#[test]
fn a_refusal_for_a_cancelled_dispatch_leaves_nothing_behind() {
    let mut script = Script::default();
    script.submit(1);
    script.cancel(1);
    assert!(script.occupied(1).is_empty());
    assert!(script.0.lines.is_empty());
    assert!(script.tell(Event::Freed(KEY)).is_empty());
}

#[test]
fn a_cancel_that_does_not_meet_its_dispatch_goes_on() {
    let mut script = Script::default();
    assert!(matches!(&script.cancel(1)[..], [Effect::Cancel(_)]));
    script.submit(1);
    let old = dispatch(1, Some(KEY), KeyLimits::SERIAL);
    let old = Live::new(old.live.task.clone(), 1, old.live.posted, 0, 1);
    let old = crate::dispatch::Cancel { live: old.into(), reason: Reason::User };
    assert!(matches!(&script.tell(Event::Cancel(old))[..], [Effect::Cancel(_)]), "another pass of it");
    script.answer(1, KeyAnswer::Granted);
    assert!(matches!(&script.cancel(1)[..], [Effect::Cancel(_)]), "passed on already");
}

#[test]
fn a_waiting_dispatch_ends_as_the_cancel_says() {
    let reschedule = Reason::Reschedule(DueAt::Now);
    for reason in [Reason::User, Reason::Expired, reschedule, Reason::Park, Reason::Disowned] {
        let mut script = Script::default();
        script.submit(1);
        script.occupied(1);
        let cancel = crate::dispatch::Cancel { reason, ..cancel(&dispatch(1, Some(KEY), KeyLimits::SERIAL)) };
        assert!(matches!(&script.tell(Event::Cancel(cancel))[..], [end] if is_end(end, 1, &reason.end())));
        assert!(script.0.is_empty() && script.0.lines.is_empty());
    }
}

#[test]
fn the_live_index_sees_that_it_is_blocked() {
    let mut world = World::default();
    let live = world.dispatch(dispatch(1, Some(KEY), KeyLimits::SERIAL));
    world.deliver((Role::Delayer, Role::Blocker));
    assert_eq!(live.stage(), live::Stage::Blocked);
}

#[test]
fn the_drain_mark_gives_everything_back_in_order_and_goes_on() {
    let mut script = Script::default();
    for n in [3, 1, 2] {
        script.submit(n);
    }
    script.occupied(3);
    let effects = script.tell(Event::Drain);
    let back = End::Returned(Return::Drain);
    let [ends @ .., Effect::Drain] = &effects[..] else { panic!("{effects:?}") };
    assert!(
        ends.iter().zip(1..=3).all(|(effect, n)| is_end(effect, n, &back)) && ends.len() == 3,
        "{effects:?}"
    );
    let late = script.submit(4);
    assert!(matches!(&late[..], [end] if is_end(end, 4, &back)), "{late:?}");
}

#[test]
fn a_grant_that_crosses_the_drain_mark_is_released() {
    let mut script = Script::default();
    script.submit(1);
    script.tell(Event::Drain);
    assert!(matches!(&script.answer(1, KeyAnswer::Granted)[..], [Effect::Release { .. }]));
    assert!(script.0.lines.is_empty());
}

#[test]
fn what_is_taken_is_gone() {
    let mut script = Script::default();
    script.submit(1);
    script.occupied(1);
    let taken = script.0.take(&name(1).id).map(|dispatch: Box<Dispatch>| dispatch.name());
    assert_eq!(taken, Some(DispatchName { id: name(1).id, epoch: 1 }));
    assert!(script.0.take(&name(1).id).is_none() && script.0.is_empty());
}
