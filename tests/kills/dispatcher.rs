//! Tasks that take their dispatcher with them, and those that were beside them.

use serde_json::json;
use taskyard::core::TaskId;
use taskyard::core::defaults::MAX_DELIVERIES;
use taskyard::core::dispatch::{Outcome, Trash};
use taskyard::core::store::{AttemptEnd, RowState};

use crate::board::Board;
use crate::plan::Fate;
use crate::site::Site;
use crate::verdict::Case;

/// B9: it is given up after so many runs that nobody survived to report; each of those claimed beside it ends well.
#[test]
fn a_task_that_kills_its_dispatcher_is_trashed_and_those_beside_it_are_not() {
    const BESIDE: u128 = 8;
    let site = Site::on_disk();
    let id = |number: u128| TaskId(0x0197_0000_0000_7000_8000_0000_0000_0000 + number);
    let mut murderer = site.task(json!({ "kills": "dispatcher" }));
    murderer["uuid"] = id(0).to_string().into();
    // The highest priority: it is never among the last.
    murderer["priority"] = 9.into();
    let others = (1..=BESIDE).map(|number| {
        let mut other = site.task(json!({ "seconds": 0.05 }));
        other["uuid"] = id(number).to_string().into();
        other
    });
    let lines: Vec<_> = others.chain([murderer]).map(|line| line.to_string()).collect();
    let file = site.scratch.file("tasks.jsonl", &lines.join("\n"));

    let mut killed = 0;
    let run = loop {
        let run = site.run(&file).end();
        match run.code {
            None => killed += 1,
            Some(_) => break run,
        }
    };
    assert_eq!((killed, run.code), (MAX_DELIVERIES, Some(1)), "{run:#?}");
    assert_eq!(run.total("all"), 1 + BESIDE as u64, "{run:#?}");

    let passes = site.journal().passes();
    let board = Board::open(site.store());
    let view = board.task(id(0));
    let reason = Outcome::Trashed(Trash::Crashed { deliveries: MAX_DELIVERIES });
    assert_eq!((view.state, view.outcome.as_ref()), (RowState::Ended, Some(&reason)), "{view:#?}");
    assert_eq!(passes[&id(0)].len(), MAX_DELIVERIES as usize, "{passes:?}");
    assert_eq!(view.attempts, 0, "none of them was an attempt: {view:#?}");
    let lost =
        view.log.iter().filter(|record| record.end == AttemptEnd::OwnerLost).map(|record| record.epoch);
    assert!(passes[&id(0)].keys().copied().eq(lost), "{view:#?}");
    for number in 1..=BESIDE {
        let view = &board.task(id(number));
        let case = Case { fate: Fate::PLAIN, ran: &passes[&id(number)], view };
        case.judge().unwrap_or_else(|why| panic!("{why}: {view:#?}"));
    }
}
