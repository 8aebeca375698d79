//! One transaction, from the inside: which answer each request gets, and from whom it is refused. What a request does stands
//! in the file of its name; beginning and committing is the [engine](super::engine)'s.

use taskyard_core::Now;
use taskyard_core::store::{Answer, Ask, OwnerId, Request, StoreError};
use taskyard_core::task::DueAt;

use super::clock::Skew;
use super::fault::Fault;
use super::heads::Heads;
use super::link::Session;
use super::memory::{Before, Memory};
use crate::store::lanes::LaneNo;
use crate::store::remembered::must_be_kept;

/// See the [module](self).
pub(super) struct Turn<'a> {
    pub(super) session: &'a Session,
    pub(super) memory: &'a mut Memory,
    /// On the server's clock.
    pub(super) now: Now,
    pub(super) skew: Skew,
    /// The number under which this schema's keys are locked.
    pub(super) seed: i64,
    /// Who asks what is being answered.
    pub(super) owner: OwnerId,
    /// Those who ask and may write.
    pub(super) live: Vec<OwnerId>,
    pub(super) effects: &'a mut Effects,
    /// What was answered in this turn, apart from what had been answered before.
    pub(super) answered: Vec<(Ask, Answer)>,
}

/// What holds once it is committed.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// By how much the number of unfinished tasks changes.
    pub(super) unfinished: i64,
    /// How many versions of rows are of no use any more.
    pub(super) worn: i64,
    /// Lanes that are known since this turn.
    pub(super) lanes: Vec<LaneNo>,
    /// Whether something waits that others may want to know of.
    pub(super) hint: bool,
    /// Owners that are gone.
    pub(super) gone: Vec<OwnerId>,
}

impl Turn<'_> {
    /// Answers an ask, or refuses it. Nothing that was answered before is done again.
    pub(super) async fn answer(&mut self, ask: &Ask) -> Result<Result<Answer, StoreError>, Fault> {
        self.owner = ask.owner;
        if !ask.request.is_for_anybody() && !self.live.contains(&ask.owner) {
            self.effects.gone.push(ask.owner);
            return Ok(Err(StoreError::Fenced));
        }
        Ok(Ok(match self.before(ask) {
            Before::Told(answer) => answer,
            Before::Claimed(answer) => self.still_claimed(answer).await?,
            Before::New => {
                let answer = self.answer_new(ask).await?;
                self.answered.push((ask.clone(), answer.clone()));
                answer
            }
        }))
    }

    /// What is known of an ask by what was answered in this turn, and then by what is remembered.
    fn before(&mut self, ask: &Ask) -> Before {
        let mut answered = self.answered.iter().filter(|_| must_be_kept(&ask.request));
        match answered.find(|(of, _)| is_same(of, ask)) {
            Some((_, answer)) => Before::with(answer.clone()),
            None => self.memory.recall(ask),
        }
    }

    async fn answer_new(&mut self, ask: &Ask) -> Result<Answer, Fault> {
        use Request as R;
        Ok(match &*ask.request {
            R::Post { rows, room } => Answer::Posted(self.post(rows, room.clone()).await?),
            R::Claim { pool, ready, unjudged } => self.claim(*pool, *ready, *unjudged).await?,
            R::Preload { pool, before, up_to } => {
                let before = self.skew.to_server(*before);
                self.preload(*pool, before, *up_to).await?
            }
            R::Settle(items) => Answer::Settled(self.settle(items).await?),
            R::MarkStart(name) => Answer::Marked(self.mark_start(*name).await?),
            R::Promote { up_to } => self.promote(*up_to).await?,
            R::Cancel { filter, after } => self.cancel(filter, *after).await?,
            R::Reschedule { id, due } => Answer::Rescheduled(self.reschedule(*id, *due).await?),

            R::Get(id) => Answer::Task(self.view(*id).await?.map(Box::new)),
            R::List { filter, after, limit } => self.list(filter, *after, *limit).await?,
            R::Count => Answer::Counts(self.counts().await?),
            R::CountOf { filter, after } => self.counts_of(filter, *after).await?,
            R::Outcomes(ids) => Answer::Outcomes(self.outcomes(ids).await?),
            R::Learn { pool, names } => {
                self.memory.lanes.learn(*pool, names);
                Answer::Learned
            }
            other => self.answer_of_owners(ask.owner, other).await?,
        })
    }

    async fn answer_of_owners(&mut self, owner: OwnerId, request: &Request) -> Result<Answer, Fault> {
        use Request as R;
        Ok(match request {
            R::Register(who) => Answer::Registered(self.register(who).await?),
            R::Renew => Answer::Renewed(self.renew().await?),
            R::TakeOver { up_to } => self.take_over(*up_to).await?,
            R::Release => self.release(owner).await?,
            R::Held => Answer::Held(self.held().await?),
            R::Owners => Answer::Owners(self.owners().await?),

            R::ListTrash { filter, after, limit } => self.list_trash(filter, *after, *limit).await?,
            R::Requeue { filter, up_to } => self.requeue(filter, *up_to).await?,
            R::Purge { filter, up_to } => self.purge(filter, *up_to).await?,

            R::Schedule { name, begin } => Answer::Schedule(self.schedule(name, *begin).await?),
            R::Tick { name, from, to, rows } => Answer::Ticked(self.tick(name, *from, *to, rows).await?),
            R::PauseSchedule { name, paused } => Answer::Schedule(self.pause_schedule(name, *paused).await?),
            R::Schedules => Answer::Schedules(self.schedules().await?),

            R::OpenBatch { hash } => Answer::Batch(self.open_batch(hash).await?),
            R::SealBatch(batch) => self.seal_batch(*batch).await?,
            R::Prune { ended_before, results_before, keep, up_to } => {
                let [ended, results] = [ended_before, results_before].map(|at| self.skew.to_server(*at));
                self.prune(ended, results, *keep, *up_to).await?
            }
            // All others were answered before.
            _ => Answer::Learned,
        })
    }

    pub(super) async fn heads(&mut self) -> Result<Heads, Fault> {
        Heads::ask(self.session, self.memory).await
    }

    /// The owner as it stands in the tables.
    pub(super) fn owner_number(&self) -> i64 {
        self.owner.0 as i64
    }

    /// A due time on the server's wall clock.
    pub(super) fn wall(&self, due: DueAt) -> i64 {
        taskyard_core::filing::wall(due, self.now).0
    }
}

/// Whether it is the same ask, come twice.
pub(super) fn is_same(a: &Ask, b: &Ask) -> bool {
    (a.owner, a.from, a.no) == (b.owner, b.from, b.no)
}
