//! Several dispatchers at one board, at once.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use taskyard_core::dispatch::Outcome;
use taskyard_core::store::{Answer, Filter, Request};
use taskyard_core::task::KeyLimits;

use crate::desk::{Desk, numbers};
use crate::server::{Direct, Schema};
use crate::task::{id, task};

/// B1
#[test]
fn of_fifty_dispatchers_one_gets_each_task() {
    const ROUNDS: u64 = 20;
    let Some(schema) = Schema::new() else { return };
    let mut first = Desk::at(&schema);
    let mut others: Vec<_> = (0..50).map(|_| Desk::at(&schema)).collect();
    for round in 0..ROUNDS {
        first.post([task(round)]);
        let start = Barrier::new(others.len());
        let claim = |desk: &mut Desk| {
            start.wait();
            desk.claim(1).len()
        };
        let got: usize = thread::scope(|scope| {
            let claims: Vec<_> = others.iter_mut().map(|desk| scope.spawn(|| claim(desk))).collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).sum()
        });
        assert_eq!(got, 1);
    }
    assert_eq!(first.counts().claimed as u64, ROUNDS);
}

#[test]
fn what_two_claim_and_settle_at_once_is_each_done_once() {
    const TASKS: u64 = 600;
    let Some(schema) = Schema::new() else { return };
    let mut desks = [Desk::at(&schema), Desk::at(&schema)];
    desks[0].post((0..TASKS).map(task));
    let work = |desk: &mut Desk| {
        let mut done = Vec::new();
        while desk.counts().ready > 0 {
            let rows = desk.claim(20);
            assert_eq!(desk.finish(&rows), rows.len());
            done.extend(numbers(&rows));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let work: Vec<_> = desks.iter_mut().map(|desk| scope.spawn(|| work(desk))).collect();
        work.into_iter().flat_map(|work| work.join().unwrap()).collect::<Vec<_>>()
    });
    done.sort_unstable();
    assert_eq!(done, (0..TASKS).collect::<Vec<_>>());
    let counts = desks[0].counts();
    assert_eq!((counts.ready, counts.claimed), (0, 0));
}

/// Their transactions lock the same keys and rows in whatever order the scripts have it.
#[test]
fn no_key_has_more_rows_at_hand_than_it_may_whoever_settles_and_posts() {
    const KEYS: u64 = 2;
    const TASKS: u64 = 80;
    let Some(schema) = Schema::new() else { return };
    let mut desks: Vec<_> = (0..4).map(|_| Desk::at(&schema)).collect();
    let most = format!(
        "SELECT coalesce(max(n), 0)::bigint FROM (SELECT count(*) AS n FROM {}.tasks
          WHERE state IN (3, 4) GROUP BY key) AS keys",
        schema.name
    );
    let start = Barrier::new(desks.len());
    let (most, start) = (&most, &start);
    let url = &schema.url;
    let work = move |place: u64, desk: &mut Desk| {
        let direct = Direct::to(url);
        let mut done = 0;
        start.wait();
        for n in 0..TASKS {
            let serial = |n: u64| task(1_000 * place + n).key(u128::from(n % KEYS), KeyLimits::SERIAL);
            desk.post([serial(2 * n), serial(2 * n + 1)]);
            let rows = desk.claim(3);
            done += desk.finish(&rows);
            assert!(direct.rows(most, &[])[0].get::<_, i64>(0) <= 2, "one that runs, and the next at hand");
        }
        done
    };
    let mut done: usize = thread::scope(|scope| {
        let desks = desks.iter_mut().enumerate();
        let work: Vec<_> = desks.map(|(place, desk)| scope.spawn(move || work(place as u64, desk))).collect();
        work.into_iter().map(|work| work.join().unwrap()).sum()
    });
    assert_eq!(desks[0].store.verify(), [""; 0]);
    loop {
        let rows = desks[0].claim(100);
        if rows.is_empty() {
            break;
        }
        done += desks[0].finish(&rows);
    }
    assert_eq!(done as u64, 2 * TASKS * desks.len() as u64, "nothing stays behind for ever");
}

/// D8
#[test]
fn a_task_that_is_cancelled_while_another_claims_it_is_one_or_the_other() {
    const TASKS: u64 = 100;
    let Some(schema) = Schema::new() else { return };
    let (mut claimer, mut canceller) = (Desk::at(&schema), Desk::at(&schema));
    claimer.post((0..TASKS).map(task));
    let cancel = |desk: &mut Desk| {
        let (mut gone, mut told) = (BTreeSet::new(), BTreeSet::new());
        for n in (0..TASKS).rev() {
            match desk.ask(Request::Cancel { filter: Filter::ids([id(n)]), after: 0 }) {
                Answer::Cancelled { tasks, elsewhere, .. } => {
                    assert_eq!(tasks.len() + elsewhere.len(), 1, "neither cancelled nor elsewhere");
                    gone.extend(tasks.iter().map(|task| task.id));
                    told.extend(elsewhere);
                }
                other => panic!("{other:?}"),
            }
        }
        (gone, told)
    };
    let (rows, (gone, told)) = thread::scope(|scope| {
        let cancel = scope.spawn(|| cancel(&mut canceller));
        let mut rows = Vec::new();
        while claimer.counts().ready > 0 {
            rows.extend(claimer.claim(3));
        }
        (rows, cancel.join().unwrap())
    });
    let taken: BTreeSet<_> = rows.iter().map(|row| row.task.id).collect();
    assert!(taken.is_disjoint(&gone));
    assert_eq!(taken.len() + gone.len(), TASKS as usize);
    assert!(told.is_subset(&taken), "told are those that have it");
    match claimer.ask(Request::Renew) {
        Answer::Renewed(renewal) => {
            assert_eq!(renewal.marked.into_iter().collect::<BTreeSet<_>>(), told);
        }
        other => panic!("{other:?}"),
    }
}

/// D19
#[test]
fn the_same_id_posted_by_many_at_once_is_one_row() {
    let Some(schema) = Schema::new() else { return };
    let mut desks: Vec<_> = (0..8).map(|_| Desk::at(&schema)).collect();
    let start = Barrier::new(desks.len());
    let post = |desk: &mut Desk| {
        start.wait();
        (0..20).filter(|n| matches!(desk.post([task(*n)])[0], taskyard_core::store::Posted::Kept(_))).count()
    };
    let kept: usize = thread::scope(|scope| {
        let posts: Vec<_> = desks.iter_mut().map(|desk| scope.spawn(|| post(desk))).collect();
        posts.into_iter().map(|post| post.join().unwrap()).sum()
    });
    assert_eq!(kept, 20);
    let rows = desks[0].claim(100);
    assert_eq!((rows.len(), desks[0].finish(&rows)), (20, 20));
    assert_eq!(desks[1].outcome(3), Some(Outcome::Succeeded("null".into())));
}
