//! The Conductor is the only way in and out: it admits and claims tasks, dispatches them, judges outcomes and settles.
//!
//! It never holds a dispatch back and never looks into a queue: what waits, waits on the board or in a stage.

mod admission;
mod allowance;
mod answer;
mod asks;
mod basket;
mod budget;
mod cancel;
mod claims;
mod disown;
mod drain;
mod effect;
mod event;
mod judge;
mod ledger;
mod pace;
mod pulse;
mod purpose;
mod query;
mod replies;
mod reschedule;
mod rest;
mod settings;
mod settle;
mod standing;
mod strays;
mod suspects;
mod totals;
mod watchers;

use std::sync::Arc;

use crate::dispatch::Outcome;
use crate::id::Token;
use crate::live::LiveIndex;
use crate::machine::Machine;
use crate::store::OwnerId;
use crate::task::Task;
use crate::time::{Now, Wakeup};
use admission::Posts;
use allowance::Allowance;
pub use answer::{Accepted, Answer, CancelAnswer, EmptyFilter, Happened, RescheduleResult, SubmitRefusal};
use asks::Asks;
use basket::Basket;
use cancel::Cancels;
use disown::ClaimedAnew;
use drain::Drain;
pub use effect::Effect;
pub use event::{Event, Submission};
use ledger::Ledger;
use pulse::Pulse;
use reschedule::Reschedules;
pub use settings::Settings;
use settle::Outbox;
use standing::Standing;
use strays::Strays;
use suspects::Suspects;
pub use totals::Totals;
use watchers::Watchers;

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
    reschedules: Reschedules,
    drain: Drain,
    basket: Basket,
    totals: Totals,
    pulse: Pulse,
    standing: Standing,
    strays: Strays,
    claimed_anew: ClaimedAnew,
    suspects: Suspects,
    allowance: Allowance,
}

impl Conductor {
    /// A Conductor for so many pools, which keeps `live` up to date.
    pub fn new(settings: Settings, pools: usize, live: Arc<LiveIndex>) -> Self {
        let ledger = Ledger::new(pools, live);
        let all_pools = ledger.pool_ids().collect();
        Self {
            ledger,
            // A board that is not shared has one owner, who need not register.
            asks: Asks::new((!settings.shared).then_some(OwnerId::SOLE), settings.submit_patience),
            posts: Posts::default(),
            outbox: Outbox::default(),
            watchers: Watchers::new(settings.shared),
            cancels: Cancels::default(),
            reschedules: Reschedules::default(),
            drain: Drain::default(),
            basket: Basket::new(settings.horizon, all_pools, settings.shared),
            totals: Totals::default(),
            pulse: Pulse::new(settings.shared),
            standing: Standing::default(),
            strays: Strays::default(),
            claimed_anew: ClaimedAnew::default(),
            suspects: Suspects::default(),
            allowance: Allowance::new(settings.max_dispatches),
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
            Event::Ended(ended) => self.ended(now, ended, effects),
            Event::Due(name) => self.ledger.due(name),
            Event::Blocked(name) => self.ledger.blocked(name),
            Event::Unblocked(name) => self.ledger.unblocked(name),
            Event::Capacity { pool, slots } => self.capacity(pool, slots, effects),
            Event::Learned { pool, names } => self.learned(now, pool, names, effects),
            Event::Told(cancel) => self.told(&cancel, effects),
            Event::Missed(cancel) => self.missed(cancel, effects),
            Event::Cancel { filter, reply } => self.cancel(now, *filter, reply, effects),
            Event::Reschedule { id, due, reply } => self.reschedule(now, id, due, reply, effects),
            Event::Watch { id, reply } => self.watch(now, id, reply, effects),
            Event::Unwatch { id, reply } => self.unwatch(id, reply),
            Event::Query { request, reply } => self.query(now, *request, reply, effects),
            Event::Hint(status) => self.hinted(status),
            Event::StoreDown(error) => self.asks.store_is_down(now, error),
            Event::StoreUp => self.store_is_up(now),
            Event::Owned(owner) => self.owned(now, owner, effects),
            Event::Disowned => self.disowned(now, effects),
            Event::Marked(ids) => self.marked(ids, effects),
            Event::Released => self.released(effects),
            Event::MayStart { pool, name } => self.may_start(now, pool, name, effects),
            Event::Sum { reply } => effects.push(Effect::Answer(reply, Answer::Totals(self.totals))),
            Event::Look { pool, reply } => effects.push(Effect::Look { pool, reply }),
            Event::Drain { reply } => self.start_drain(reply, effects),
            Event::Drained(pool) => self.drain.pool_drained(pool),
            Event::Stop { grace, reply } => self.stop(now, grace, reply, effects),
            Event::Force => self.force(effects),
            Event::Scale { pool, min, max } => effects.push(Effect::Scale { pool, min, max }),
            Event::Pause { pool, paused } => effects.push(Effect::Pause { pool, paused }),
        }
    }

    fn wake(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.beat(now, effects);
        self.force_in_time(now, effects);
        for given_up in self.asks.repeat(now, effects) {
            self.gave_up(now, given_up, effects);
        }
        self.expire(now, effects);
    }

    fn end_turn(&mut self, now: Now, effects: &mut Vec<Effect>) {
        self.drain_by_itself(effects);
        self.flush_settlements(now, effects);
        self.flush_posts(now, effects);
        self.look_for_strays(now, effects);
        self.ask_for_work(now, effects);
        self.go_on_draining(now, effects);
    }

    fn next_wakeup(&self) -> Wakeup {
        let basket = if self.keeps_basket() { self.basket.next_wakeup() } else { Wakeup::NEVER };
        let claim = if self.may_claim() { self.ledger.next_claim() } else { Wakeup::NEVER };
        let yard = self.ledger.next_expiry().or(self.pulse.next_wakeup()).or(self.drain.next_wakeup());
        self.asks.next_wakeup().or(basket).or(claim).or(yard)
    }

    fn check_invariants(&self) {
        self.ledger.check_invariants();
        assert_eq!(self.allowance.in_yard(), self.ledger.running_count() as u64, "begun and not ended");
        self.suspects.check_invariants(|name| self.ledger.has_begun(name));
    }
}
