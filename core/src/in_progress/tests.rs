//! Scripts for InProgress.

use super::*;
use crate::dispatch::End;
use crate::keys::fixture::{KEY, dispatch, name};
use crate::task::KeyLimits;

#[derive(Default)]
struct Script(InProgress);

impl Script {
    fn tell(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.0.handle(Now::default(), event, &mut effects);
        self.0.check_invariants();
        effects
    }

    fn ask(&mut self, n: u64, running: u32, others_wait: bool) -> KeyAnswer {
        let effects = self.tell(Event::Ask(Question { key: KEY, name: name(n), running, others_wait }));
        match effects.as_slice() {
            [Effect::Verdict(verdict)] if verdict.name == name(n) && verdict.key == KEY => verdict.answer,
            other => panic!("{other:?}"),
        }
    }

    /// Whether the end freed the key, which must come before the end itself.
    fn end(&mut self, n: u64, key: Option<Key>) -> bool {
        let dispatch = Box::new(dispatch(n, key, KeyLimits::SERIAL));
        let effects = self.tell(Event::Ended(Ended { dispatch, end: End::Cancelled }));
        match effects.as_slice() {
            [Effect::Ended(_)] => false,
            [Effect::Freed(freed), Effect::Ended(_)] => Some(*freed) == key,
            other => panic!("{other:?}"),
        }
    }
}

fn occupied_by(n: u64) -> KeyAnswer {
    KeyAnswer::Occupied { holder: name(n).id }
}

/// P3
#[test]
fn the_key_is_free_before_anybody_sees_the_end() {
    let mut script = Script::default();
    assert_eq!(script.ask(1, 1, false), KeyAnswer::Granted);
    assert_eq!(script.ask(2, 1, false), occupied_by(1));
    assert!(script.end(1, Some(KEY)));
    assert_eq!(script.ask(2, 1, false), KeyAnswer::Granted);
}

#[test]
fn as_many_are_granted_as_the_limit_of_who_asks() {
    let mut script = Script::default();
    assert_eq!(script.ask(1, 2, false), KeyAnswer::Granted);
    assert_eq!(script.ask(2, 2, false), KeyAnswer::Granted);
    assert_eq!(script.ask(3, 2, false), occupied_by(1));
    assert_eq!(script.ask(4, KeyLimits::UNLIMITED, true), KeyAnswer::Granted);
    assert_eq!(script.0.count(KEY), 3);
}

#[test]
fn nobody_is_told_of_a_free_key_without_having_been_told_that_it_is_occupied() {
    let mut script = Script::default();
    script.ask(1, 1, false);
    assert!(!script.end(1, Some(KEY)));
}

#[test]
fn interest_is_served_once() {
    let mut script = Script::default();
    script.ask(1, 2, false);
    script.ask(2, 2, false);
    script.ask(3, 2, false);
    assert!(script.end(1, Some(KEY)));
    assert!(!script.end(2, Some(KEY)));
}

#[test]
fn a_question_that_counts_on_served_interest_is_stale() {
    let mut script = Script::default();
    script.ask(1, 1, false);
    script.ask(2, 1, false);
    assert_eq!(script.ask(3, 1, true), occupied_by(1));
    script.end(1, Some(KEY));
    assert_eq!(script.ask(3, 1, true), KeyAnswer::Stale);
    assert_eq!(script.ask(2, 1, false), KeyAnswer::Granted);
    assert_eq!(script.ask(3, 1, true), KeyAnswer::Stale, "the interest must stand, whoever holds the key");
}

#[test]
fn a_grant_is_released_once() {
    let mut script = Script::default();
    script.ask(1, 2, false);
    script.ask(2, 2, false);
    script.tell(Event::Release { key: KEY, name: name(1) });
    script.tell(Event::Release { key: KEY, name: name(1) });
    script.end(1, Some(KEY));
    assert_eq!(script.0.count(KEY), 1);
}

#[test]
fn an_end_without_a_key_is_passed_on() {
    assert!(!Script::default().end(1, None));
}

#[test]
fn states_move_forward_only_and_reports_of_other_epochs_are_dropped() {
    let mut script = Script::default();
    script.ask(1, 1, false);
    let old = DispatchName { epoch: 0, ..name(1) };
    script.tell(Event::Started { key: KEY, name: old });
    script.tell(Event::Release { key: KEY, name: old });
    assert_eq!(script.0.state(KEY, name(1)), Some(State::Granted));
    script.tell(Event::Started { key: KEY, name: name(1) });
    script.tell(Event::Queued { key: KEY, name: name(1) });
    assert_eq!(script.0.state(KEY, name(1)), Some(State::Running));
    assert_eq!(script.0.state(KEY, old), None);
}

#[test]
fn nothing_is_kept_of_a_key_that_is_free() {
    let mut script = Script::default();
    script.ask(1, 1, false);
    script.ask(2, 1, false);
    script.end(1, Some(KEY));
    assert!(script.0.keys.is_empty() && script.0.grants.is_empty());
}
