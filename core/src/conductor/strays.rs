//! After an outage the board may hold rows for this dispatcher of which it knows nothing: claimed by a request whose answer
//! was lost and which nobody repeats. They are found by asking what it has, and given back uncounted.
//!
//! What an answer on its way may still bring is none: it is waited for.

use std::collections::BTreeSet;

use super::purpose::Purpose;
use super::{Conductor, Effect};
use crate::dispatch::DispatchName;
use crate::id::{Epoch, TaskId};
use crate::store::{Answer, Filter, Posted, Request, RowState, Settle, Settlement, TaskView};
use crate::time::Now;

/// How far the search is.
#[derive(Debug, Default)]
pub(super) struct Strays {
    wanted: bool,
    search: Search,
    /// Given back, and not recorded yet: they must not begin meanwhile.
    leaving: BTreeSet<DispatchName>,
}

#[derive(Debug, Default)]
enum Search {
    #[default]
    Over,
    /// The board is asked what this dispatcher has.
    Asked,
    /// It has these and knows nothing of them, unless one of these requests brings them.
    Found { names: BTreeSet<DispatchName>, bringing: BTreeSet<u64> },
    /// The board is asked for more about these.
    Listed(BTreeSet<DispatchName>),
}

impl Strays {
    /// There may be some.
    pub(super) fn look(&mut self) {
        self.wanted = true;
    }

    /// An answer that nobody waited for any more may have brought some.
    pub(super) fn look_after_late(&mut self, answer: &Answer) {
        self.wanted |= match answer {
            Answer::Claimed { rows, .. } => !rows.is_empty(),
            Answer::Posted(posted) => posted.iter().any(|posted| matches!(posted, Posted::Claimed(_))),
            _ => false,
        };
    }

    /// Whether this dispatch is on its way back to the board.
    pub(super) fn is_leaving(&self, name: DispatchName) -> bool {
        self.leaving.contains(&name)
    }

    /// Its way back is recorded, or was refused.
    pub(super) fn left(&mut self, id: TaskId, epoch: Epoch) {
        self.leaving.remove(&DispatchName { id, epoch });
    }
}

impl Conductor {
    pub(super) fn look_for_strays(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let strays = &mut self.strays;
        if strays.wanted && matches!(strays.search, Search::Over) && self.asks.is_owned() {
            strays.wanted = false;
            strays.search = Search::Asked;
            self.asks.ask(now, Request::Held, Purpose::Held, effects);
        }
    }

    /// The board says what this dispatcher has.
    pub(super) fn held(&mut self, names: Vec<DispatchName>) {
        let names: BTreeSet<_> = names.into_iter().filter(|name| !self.knows(*name)).collect();
        self.strays.search = Search::Found { names, bringing: self.asks.bringing_work() };
    }

    /// A request was answered: what it could bring is in the yard now.
    pub(super) fn strays_go_on(&mut self, now: Now, no: u64, effects: &mut Vec<Effect>) {
        let Search::Found { names, bringing } = &mut self.strays.search else { return };
        bringing.remove(&no);
        if !bringing.is_empty() {
            return;
        }
        let mut names = std::mem::take(names);
        names.retain(|name| !self.knows(*name));
        if names.is_empty() {
            self.strays.search = Search::Over;
            return;
        }
        self.list_strays(now, &names, 0, effects);
        self.strays.search = Search::Listed(names);
    }

    fn list_strays(
        &mut self,
        now: Now,
        names: &BTreeSet<DispatchName>,
        after: u64,
        effects: &mut Vec<Effect>,
    ) {
        let filter = Filter::ids(names.iter().map(|name| name.id));
        let request = Request::List { filter, after, limit: names.len() };
        self.asks.ask(now, request, Purpose::Strays, effects);
    }

    pub(super) fn give_back_strays(
        &mut self,
        now: Now,
        tasks: &[TaskView],
        more: Option<u64>,
        effects: &mut Vec<Effect>,
    ) {
        let Search::Listed(names) = std::mem::take(&mut self.strays.search) else { return };
        for view in tasks.iter().filter(|view| view.state == RowState::Claimed) {
            let name = DispatchName { id: view.id, epoch: view.epoch };
            if names.contains(&name) && !self.knows(name) {
                self.give_back_stray(name, view);
            }
        }
        if let Some(after) = more {
            self.list_strays(now, &names, after, effects);
            self.strays.search = Search::Listed(names);
        }
    }

    fn give_back_stray(&mut self, name: DispatchName, view: &TaskView) {
        let sequence = view.order.map(|order| order.sequence).unwrap_or_default();
        let settle = Settle::GiveBack { due: None, setback: false, renew: false, started: false };
        let DispatchName { id, epoch } = name;
        self.strays.leaving.insert(name);
        self.outbox.put(Settlement { id, sequence, epoch, settle, posts: Vec::new() });
    }

    /// Whether this dispatch is in the yard, or was.
    fn knows(&self, name: DispatchName) -> bool {
        self.strays.is_leaving(name)
            || self.ledger.get(name.id).is_some_and(|entry| entry.live.epoch >= name.epoch)
            || self.claimed_anew.waits(name)
    }
}
