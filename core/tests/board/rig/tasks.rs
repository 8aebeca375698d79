//! What is asked about tasks.

use std::sync::Arc;

use taskyard_core::dispatch::Outcome;
use taskyard_core::id::PoolId;
use taskyard_core::store::{
    Answer, Claimed, Counts, Filter, Posted, Request, RescheduleAnswer, Room, RowState, Settle, Settlement,
    TaskView,
};
use taskyard_core::task::DueAt;

use super::Rig;
use super::words::{cancelled, claimed, expired, ids, numbers, pages, posted, settled, tasks, views};
use crate::suite::task::{New, at, id};

impl Rig {
    pub(crate) fn post<const N: usize>(&mut self, tasks: [New; N]) -> Vec<Posted> {
        self.post_with(Room::default(), tasks)
    }

    /// Posts in one write.
    pub(crate) fn post_many(&mut self, tasks: impl IntoIterator<Item = New>) -> Vec<Posted> {
        let rows = tasks.into_iter().map(New::row).collect();
        posted(self.ask(Request::Post { rows, room: Room::default() }))
    }

    /// Posts while an earlier question is open, as far as anybody knows.
    pub(crate) fn post_while_open<const N: usize>(&mut self, oldest_open: u64, tasks: [New; N]) {
        self.no += 1;
        let rows = tasks.map(New::row).into();
        let request = Arc::new(Request::Post { rows, room: Room::default() });
        let ask = self.numbered(request, oldest_open);
        self.ask_again(ask);
    }

    /// Posts, with room for claims in the same write.
    pub(crate) fn post_with<const N: usize>(&mut self, room: Room, tasks: [New; N]) -> Vec<Posted> {
        let rows = tasks.map(New::row).into();
        posted(self.ask(Request::Post { rows, room }))
    }

    pub(crate) fn claim(&mut self, pool: PoolId, ready: usize) -> Vec<u64> {
        ids(&self.claim_rows(pool, ready, 0))
    }

    pub(crate) fn claim_rows(&mut self, pool: PoolId, ready: usize, unjudged: usize) -> Vec<Claimed> {
        claimed(self.ask(Request::Claim { pool, ready, unjudged })).0
    }

    /// Claims what is due before `before_ms`.
    pub(crate) fn preload(&mut self, pool: PoolId, before_ms: u64, up_to: usize) -> Vec<u64> {
        ids(&claimed(self.ask(Request::Preload { pool, before: at(before_ms), up_to })).0)
    }

    pub(crate) fn settle(&mut self, n: u64, epoch: u32, settle: Settle) -> bool {
        self.settle_posting(n, epoch, settle, Vec::new())
    }

    pub(crate) fn settle_posting(&mut self, n: u64, epoch: u32, settle: Settle, posts: Vec<New>) -> bool {
        let posts = posts.into_iter().map(New::row).collect();
        let sequence = self.sequence(n);
        let answer =
            self.ask(Request::Settle(vec![Settlement { id: id(n), sequence, epoch, settle, posts }]));
        settled(&answer)
    }

    /// The sequence of an unfinished task; 0 if there is none.
    fn sequence(&mut self, n: u64) -> u64 {
        let before = self.last.clone();
        let sequence = self.view(n).and_then(|view| view.order).map_or(0, |order| order.sequence);
        self.last = before;
        sequence
    }

    /// Tasks that expired.
    pub(crate) fn promote(&mut self) -> Vec<u64> {
        expired(self.ask(Request::Promote { up_to: 1_000 }))
    }

    /// Tasks that were cancelled, and those that had ended.
    pub(crate) fn cancel(&mut self, filter: Filter) -> (Vec<u64>, Vec<u64>) {
        cancelled(self.ask(Request::Cancel { filter, after: 0 }))
    }

    /// Tasks that were cancelled, those that others have, and where to go on.
    pub(crate) fn cancel_from(&mut self, filter: Filter, after: u64) -> (Vec<u64>, Vec<u64>, Option<u64>) {
        match self.ask(Request::Cancel { filter, after }) {
            Answer::Cancelled { tasks: gone, elsewhere, more, .. } => {
                (tasks(&gone), numbers(&elsewhere), more)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn reschedule(&mut self, n: u64, ms: u64) -> RescheduleAnswer {
        match self.ask(Request::Reschedule { id: id(n), due: DueAt::Wall(at(ms)) }) {
            Answer::Rescheduled(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn view(&mut self, n: u64) -> Option<TaskView> {
        match self.ask(Request::Get(id(n))) {
            Answer::Task(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    /// Where each of the tasks is.
    pub(crate) fn states<const N: usize>(&mut self, tasks: [u64; N]) -> [RowState; N] {
        tasks.map(|n| self.view(n).expect("the task is known").state)
    }

    pub(crate) fn outcome(&mut self, n: u64) -> Option<Outcome> {
        self.view(n)?.outcome
    }

    /// A page of the list, and where the next begins.
    pub(crate) fn page(&mut self, filter: Filter, after: u64, limit: usize) -> (Vec<u64>, Option<u64>) {
        match self.ask(Request::List { filter, after, limit }) {
            Answer::Tasks { tasks, more } => (views(&tasks), more),
            other => panic!("{other:?}"),
        }
    }

    /// The whole list, page by page.
    pub(crate) fn list(&mut self, filter: Filter, limit: usize) -> Vec<u64> {
        pages(|after| self.page(filter.clone(), after, limit))
    }

    pub(crate) fn outcomes(&mut self, tasks: &[u64]) -> Vec<(u64, Option<Outcome>)> {
        match self.ask(Request::Outcomes(tasks.iter().map(|n| id(*n)).collect())) {
            Answer::Outcomes(outcomes) => {
                outcomes.into_iter().map(|(id, outcome)| (id.0 as u64, outcome)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn counts(&mut self) -> Counts {
        match self.ask(Request::Count) {
            Answer::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }

    /// Over all pages.
    pub(crate) fn counts_of(&mut self, filter: &Filter) -> Counts {
        let (mut counts, mut next) = (Counts::default(), Some(0));
        while let Some(after) = next {
            let Answer::Counted { counts: page, more } =
                self.ask(Request::CountOf { filter: filter.clone(), after })
            else {
                panic!("not counted");
            };
            assert!(more.is_none_or(|more| more > after), "a cursor that stands still");
            (counts, next) = (counts + page, more);
        }
        counts
    }

    pub(crate) fn learn(&mut self, pool: PoolId, name: &str) {
        self.ask(Request::Learn { pool, names: vec![name.parse().unwrap()] });
    }
}
