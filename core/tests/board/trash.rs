//! What failed for good is kept with its task: listed in the order in which it got there, posted again, or forgotten.

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, AttemptEnd, Filter, Request, RowState, TaskView};
use taskyard_core::task::KeyLimits;

use crate::suite::rig::{A, B, NONE, Rig, all, done, failure, numbers, only, pages, retry, trash, views};
use crate::suite::task::{New, at, id, task};

/// These, each put into the trash, in this order.
fn trashed<const N: usize>(tasks: [(u64, New); N]) -> Rig {
    let mut rig = Rig::new();
    for (n, task) in tasks {
        rig.post([task]);
        assert_eq!(rig.claim(A, 1).len() + rig.claim(B, 1).len(), 1);
        rig.settle(n, 1, trash());
    }
    rig
}

fn three() -> Rig {
    trashed([(3, task(3)), (1, task(1).lane("b", "two")), (2, task(2))])
}

fn page(rig: &mut Rig, filter: Filter, after: u64, limit: usize) -> (Vec<TaskView>, Option<u64>) {
    match rig.ask(Request::ListTrash { filter, after, limit }) {
        Answer::Tasks { tasks, more } => (tasks, more),
        other => panic!("{other:?}"),
    }
}

fn list(rig: &mut Rig, filter: &Filter, limit: usize) -> Vec<u64> {
    pages(|after| {
        let (tasks, more) = page(rig, filter.clone(), after, limit);
        (views(&tasks), more)
    })
}

fn requeued(answer: Answer) -> (Vec<u64>, bool) {
    match answer {
        Answer::Requeued { ids, more } => (numbers(&ids), more),
        other => panic!("{other:?}"),
    }
}

fn requeue(rig: &mut Rig, filter: Filter) -> Vec<u64> {
    requeued(rig.ask(Request::Requeue { filter, up_to: 100 })).0
}

fn purged(answer: Answer) -> (usize, bool) {
    match answer {
        Answer::Purged { tasks, more } => (tasks, more),
        other => panic!("{other:?}"),
    }
}

fn purge(rig: &mut Rig, filter: Filter) -> usize {
    purged(rig.ask(Request::Purge { filter, up_to: 100 })).0
}

fn two() -> Filter {
    Filter { task: Some("two".parse().unwrap()), ..Filter::default() }
}

#[test]
fn the_trash_is_listed_in_the_order_in_which_it_filled() {
    let mut rig = three();
    for limit in [1, 2, 9] {
        assert_eq!(list(&mut rig, &all(), limit), [3, 1, 2]);
        assert_eq!(list(&mut rig, &two(), limit), [1]);
        assert_eq!(list(&mut rig, &only(&[2, 3, 7]), limit), [3, 2]);
        assert_eq!(list(&mut rig, &Filter::default(), limit), NONE);
    }
    assert_eq!(rig.list(all(), 9), NONE, "it is not unfinished");
}

#[test]
fn the_trash_shows_the_task_and_why_it_is_there() {
    let mut rig = trashed([(1, task(1))]);
    let (tasks, _) = page(&mut rig, all(), 0, 9);
    let view = &tasks[0];
    assert_eq!(view.task.as_ref().map(|task| task.id), Some(id(1)));
    assert_eq!((view.state, view.attempts, view.ended), (RowState::Ended, 1, Some(at(0))));
    assert!(matches!(view.outcome, Some(Outcome::Trashed(_))));
    assert_eq!(view.log, []);
    assert_eq!(rig.view(1).unwrap().log[0].end, AttemptEnd::Ended);
}

/// B10
#[test]
fn what_is_posted_again_starts_anew_and_keeps_its_history() {
    let mut rig = Rig::new();
    rig.post([task(1).priority(7).due_at(20)]);
    rig.pass(20).promote();
    rig.claim(A, 1);
    rig.settle(1, 1, retry(0));
    rig.claim(A, 1);
    rig.settle(1, 2, trash());
    rig.pass(100);
    assert_eq!(requeue(&mut rig, only(&[1])), [1]);
    let view = rig.view(1).unwrap();
    assert_eq!((view.state, view.attempts, view.epoch), (RowState::Ready, 0, 2));
    assert_eq!((view.outcome, view.log.len()), (None, 2));
    assert_eq!(rig.counts().trashed, 0);
    assert_eq!(list(&mut rig, &all(), 9), NONE);
    let rows = rig.claim_rows(A, 1, 0);
    assert_eq!((rows[0].epoch, rows[0].attempts, rows[0].crash_marks), (3, 0, 0));
    assert_eq!(rows[0].task.priority.get(), 7);
    rig.settle(1, 3, retry(100));
    let log = rig.view(1).unwrap().log;
    assert_eq!(log.iter().map(|record| record.epoch).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(log[2].end, AttemptEnd::Failed(failure()));
}

#[test]
fn what_is_posted_again_goes_where_a_new_task_would() {
    let mut rig = Rig::new();
    rig.post([task(1).serial(), task(2).key(8, KeyLimits::DISCARD)]);
    rig.claim_rows(A, 1, 1);
    rig.settle(1, 1, trash());
    rig.settle(2, 1, trash());
    rig.post([task(3).serial(), task(4).serial()]);
    assert_eq!(requeue(&mut rig, all()), [1, 2]);
    assert_eq!(
        rig.states([1, 2, 3, 4]),
        [RowState::Behind, RowState::Unjudged, RowState::Ready, RowState::Ready]
    );
}

#[test]
fn what_is_posted_again_is_unfinished_and_may_be_trashed_again() {
    let mut rig = three();
    assert_eq!(requeue(&mut rig, only(&[3])), [3]);
    assert_eq!(requeue(&mut rig, only(&[3])), NONE, "it is not there any more");
    assert_eq!(rig.list(all(), 9), [3]);
    assert_eq!(rig.outcomes(&[3]), []);
    rig.claim(A, 1);
    assert!(rig.settle(3, 2, trash()));
    assert_eq!(list(&mut rig, &all(), 9), [1, 2, 3]);
}

#[test]
fn a_filter_posts_again_what_it_picks_so_many_at_once() {
    let mut rig = three();
    assert_eq!(requeue(&mut rig, Filter::default()), NONE);
    assert_eq!(requeue(&mut rig, two()), [1]);
    let one = |rig: &mut Rig| requeued(rig.ask(Request::Requeue { filter: all(), up_to: 1 }));
    assert_eq!(one(&mut rig), (vec![3], true));
    assert_eq!(one(&mut rig).0, [2]);
    assert_eq!(one(&mut rig), (vec![], false));
}

/// Postgres took such a number for a negative one, or posted nothing again and said that this was all.
#[test]
fn who_names_no_bound_gets_all_of_it() {
    let mut rig = three();
    assert_eq!(list(&mut rig, &all(), usize::MAX), [3, 1, 2]);
    let again = rig.ask(Request::Requeue { filter: two(), up_to: usize::MAX });
    assert_eq!(requeued(again), (vec![1], false));
    assert_eq!(purged(rig.ask(Request::Purge { filter: all(), up_to: usize::MAX })), (2, false));
}

/// A second answer, to the same question, must not run what failed again meanwhile.
#[test]
fn a_repeated_requeue_says_the_same_and_posts_no_others() {
    let mut rig = three();
    rig.ask(Request::Requeue { filter: only(&[1, 3]), up_to: 9 });
    assert_eq!(requeued(rig.repeat()).0, [3, 1]);
    assert_eq!(rig.counts().trashed, 1);
}

#[test]
fn what_is_purged_is_forgotten() {
    let mut rig = three();
    assert_eq!(purge(&mut rig, Filter::default()), 0);
    assert_eq!(purge(&mut rig, only(&[3, 7])), 1);
    assert!(rig.view(3).is_none());
    assert_eq!(rig.outcomes(&[3]), [(3, None)]);
    rig.post([task(3)]);
    assert_eq!(rig.claim_rows(A, 9, 0)[0].epoch, 1, "its id is free");
    assert_eq!(purged(rig.ask(Request::Purge { filter: all(), up_to: 1 })), (1, true));
    assert_eq!(purge(&mut rig, all()), 1);
    assert_eq!(rig.counts().trashed, 0);
}

#[test]
fn a_repeated_purge_says_the_same_and_forgets_no_others() {
    let mut rig = three();
    rig.ask(Request::Purge { filter: all(), up_to: 1 });
    assert_eq!(purged(rig.repeat()).0, 1);
    assert_eq!(rig.counts().trashed, 2);
}

/// B10
#[test]
fn a_second_post_does_not_take_a_task_out_of_the_trash() {
    let mut rig = trashed([(1, task(1))]);
    rig.post([task(1)]);
    assert_eq!(rig.claim(A, 9), NONE);
    assert_eq!(list(&mut rig, &all(), 9), [1]);
    rig.post([task(2)]);
    rig.claim(A, 1);
    rig.settle(2, 1, done());
    assert_eq!(list(&mut rig, &all(), 9), [1]);
}
