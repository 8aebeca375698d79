//! What a filter picks from more rows than one answer looks at.

use taskyard_core::store::{Answer, Filter, Request};

use crate::desk::Desk;
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
