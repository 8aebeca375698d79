//! What a filter picks from more rows than one answer looks at.

use taskyard_core::store::{Answer, Filter, Request};

use crate::desk::{Desk, POOL};
use crate::server::Schema;
use crate::task::task;

/// More rows than one answer looks at.
const ROWS: u64 = 10_001;

fn filter(name: &str) -> Filter {
    Filter { task: Some(name.parse().unwrap()), ..Filter::default() }
}

#[test]
fn what_fits_no_lane_takes_one_answer_and_what_fits_one_takes_more() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((0..ROWS).map(task));
    let mut goes_on = |name: &str| {
        let filter = filter(name);
        let list = Request::List { filter: filter.clone(), after: 0, limit: 1 };
        let count = Request::CountOf { filter: filter.clone(), after: 0 };
        [list, count, Request::Cancel { filter, after: 0 }].map(|request| match desk.ask(request) {
            Answer::Tasks { more, .. } | Answer::Counted { more, .. } | Answer::Cancelled { more, .. } => {
                more.is_some()
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(goes_on("nobody"), [false, false, false]);
    assert_eq!(goes_on("one"), [true, true, true]);
}

/// Seen: all of them in one transaction, which took too long with very many and was repeated for ever.
#[test]
fn of_very_many_expired_rows_one_claim_ends_a_part() {
    let Some(schema) = Schema::new() else { return };
    let mut desk = Desk::at(&schema);
    desk.post((0..5_000).map(task));
    schema.direct.batch(&format!("UPDATE {}.tasks SET expires = 1", schema.name));
    let mut ended = Vec::new();
    loop {
        match desk.ask(Request::Claim { pool: POOL, ready: 1, unjudged: 0 }) {
            Answer::Claimed { rows, expired } if rows.is_empty() && expired.is_empty() => break,
            Answer::Claimed { rows, expired } if rows.is_empty() => ended.push(expired.len()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ended.iter().sum::<usize>(), 5_000);
    assert!(ended.iter().all(|ended| *ended <= 1_000), "{ended:?}");
}
