//! The Conductor is the only way in and out: it admits and claims tasks, dispatches them, judges outcomes and settles.
//!
//! It never holds a dispatch back and never looks into a queue: what waits, waits on the board or in a stage.

mod admission;
mod answer;
mod asks;
mod cancel;
mod claims;
mod drain;
mod effect;
mod event;
mod judge;
mod ledger;
mod query;
mod settings;
mod settle;
mod totals;

use std::sync::Arc;

use crate::dispatch::Outcome;
use crate::id::Token;
use crate::live::LiveIndex;
use crate::machine::Machine;
use crate::task::Task;
use crate::time::{Now, Wakeup};
use admission::Posts;
pub use answer::{Accepted, Answer, CancelAnswer, EmptyFilter, Happened, RescheduleResult, SubmitRefusal};
use asks::Asks;
use cancel::Cancels;
use drain::Drain;
pub use effect::Effect;
pub use event::{Event, Submission};
use ledger::Ledger;
use query::Watchers;
pub use settings::Settings;
use settle::Outbox;
pub use totals::Totals;

/// The Conductor: a ledger of what is in the yard, and what is asked of the board and not yet answered.
#[derive(Debug)]
pub struct Conductor {
    settings: Settings,
    ledger: Ledger,
    asks: Asks,
    posts: Posts,
    outbox: Outbox,
    watchers: Watchers,
    cancels: Cancels,
    drain: Drain,
    basket: claims::Basket,
    totals: Totals,
}

impl Conductor {
    /// A Conductor for so many pools, which keeps `live` up to date.
    pub fn new(settings: Settings, pools: usize, live: Arc<LiveIndex>) -> Self {
        Self {
            ledger: Ledger::new(pools, live),
            asks: Asks::default(),
            posts: Posts::default(),
            outbox: Outbox::default(),
            watchers: Watchers::default(),
            cancels: Cancels::default(),
            drain: Drain::default(),
            basket: claims::Basket::default(),
            totals: Totals::default(),
            settings,
        }
    }

    /// How many tasks are in the yard, those whose end is not yet recorded included.
    pub fn live(&self) -> usize {
        self.ledger.len()
    }

    /// How many settlements the board refused as stale.
    pub fn stale_writes(&self) -> u64 {
        self.outbox.stale
    }

    fn happened(&self, effects: &mut Vec<Effect>, happened: impl FnOnce() -> Happened) {
        if self.settings.observed {
            effects.push(Effect::Happened(happened()));
        }
    }

    /// A task ended on the board. Its last dispatch may not be known yet to be recorded.
    fn finish_on_board(&mut self, task: &Arc<Task>, outcome: Outcome, effects: &mut Vec<Effect>) {
        let watch = self.ledger.get_mut(task.id).and_then(|entry| entry.watch.take());
        self.cancels_ended(task.id, &outcome, effects);
        self.finish(task, outcome, watch, effects);
    }

    /// A task is finished: whoever waits for it learns how.
    fn finish(
        &mut self,
        task: &Arc<Task>,
        outcome: Outcome,
        watch: Option<Token>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(watch) = watch {
            effects.push(Effect::Answer(watch, Answer::Outcome(task.id, outcome.clone())));
        }
        self.totals.add(&outcome);
        self.happened(effects, || Happened::TaskEnded { task: Arc::clone(task), outcome: outcome.clone() });
        self.watchers.tell(task.id, outcome, effects);
    }
}

impl Machine for Conductor {
    type Event = Event;
    type Effect = Effect;

    fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Submit(submission) => self.submit(now, submission, effects),
            Event::Reply(reply) => self.reply(now, *reply, effects),
            Event::Ended(ended) => self.ended(now, ended),
            Event::Due(name) => self.ledger.due(name),
            Event::Blocked(name) => self.ledger.blocked(name),
            Event::Unblocked(name) => self.ledger.unblocked(name),
            Event::Capacity { pool, slots } => self.ledger.pool(pool).slots = slots,
            Event::Learned { pool, names } => self.learned(now, pool, names, effects),
            Event::Told(cancel) => self.told(&cancel, effects),
            Event::Missed(cancel) => self.missed(cancel, effects),
            Event::Cancel { filter, reply } => self.cancel(now, *filter, reply, effects),
            Event::Reschedule { id, due, reply } => self.reschedule(now, id, due, reply, effects),
            Event::Watch { id, reply } => self.watch(now, id, reply, effects),
            Event::Query { request, reply } => self.query(now, *request, reply, effects),
            // A shared board's; until it is served.
            Event::Hint(_)
            | Event::StoreDown(_)
            | Event::StoreUp
            | Event::Owned(_)
            | Event::Disowned
            | Event::Marked(_)
            | Event::Released
            | Event::MayStart { .. } => {}
            Event::Sum { reply } => effects.push(Effect::Answer(reply, Answer::Totals(self.totals))),
            Event::Look { pool, reply } => effects.push(Effect::Look { pool, reply }),
            Event::Drain { reply } => self.start_drain(reply, effects),
            Event::Drained(pool) => self.drain.pool_drained(pool),
            Event::Force => effects.extend(self.ledger.pool_ids().map(Effect::Force)),
            Event::Scale { pool, min, max } => effects.push(Effect::Scale { pool, min, max }),
            Event::Pause { pool, paused } => effects.push(Effect::Pause { pool, paused }),
        }
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.asks.repeat(now, effects);
        self.expire(now, effects);
    }

    fn end_turn(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.flush_settlements(now, effects);
        self.flush_posts(now, effects);
        self.ask_for_work(now, effects);
        self.go_on_draining(now, effects);
    }

    fn next_wakeup(&self) -> Wakeup {
        let basket = self.basket.next_wakeup(self.settings.horizon);
        self.asks.next_wakeup().or(basket).or(self.ledger.next_expiry())
    }

    fn check_invariants(&self) {
        self.ledger.check_invariants();
    }
}
