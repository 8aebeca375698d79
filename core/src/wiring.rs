//! Who talks to whom: the one page. Actors and simulation deliver [`Mail`] by it, so what is tested is what ships.

use crate::conductor::{Answer, Happened};
use crate::id::{PoolId, Token, WorkerId};
use crate::store::{Ask, Asker, Reply};
use crate::worker::Command;
use crate::{blocker, conductor, delayer, in_progress, lease, pool, queuer};

/// A message with its addressee. Mail keeps its order per pair of sender and addressee, and no other.
#[derive(Debug)]
pub enum Mail {
    /// To the Conductor.
    Conductor(conductor::Event),
    /// To the board.
    Board(Ask),
    /// To the Lease, which lives with the store.
    Lease(lease::Event),
    /// To the Delayer.
    Delayer(delayer::Event),
    /// To the Blocker.
    Blocker(blocker::Event),
    /// To InProgress.
    InProgress(in_progress::Event),
    /// To the Queuer.
    Queuer(queuer::Event),
    /// To a Pool.
    Pool(PoolId, pool::Event),
    /// To a worker.
    Worker(WorkerId, Command),
    /// To whoever asked at the edge.
    Answer(Token, Answer),
    /// To whoever observes at the edge.
    Happened(Happened),
}

impl From<conductor::Effect> for Mail {
    fn from(effect: conductor::Effect) -> Self {
        use conductor::Effect as E;
        match effect {
            E::Ask(ask) => Self::Board(ask),
            E::Pulse => Self::Lease(lease::Event::Pulse),
            E::Release => Self::Lease(lease::Event::Release),
            E::Go { pool, name } => Self::Pool(pool, pool::Event::Go(name)),
            E::Dispatch(dispatch) => Self::Delayer(delayer::Event::Dispatch(dispatch)),
            E::Cancel(cancel) => Self::Delayer(delayer::Event::Cancel(cancel)),
            E::Drain => Self::Delayer(delayer::Event::Drain),
            E::Answer(token, answer) => Self::Answer(token, answer),
            E::Happened(happened) => Self::Happened(happened),
            E::Force(pool) => Self::Pool(pool, pool::Event::Force),
            E::Scale { pool, min, max } => Self::Pool(pool, pool::Event::Scale { min, max }),
            E::Pause { pool, paused } => Self::Pool(pool, pool::Event::Pause(paused)),
            E::Look { pool, reply } => Self::Pool(pool, pool::Event::Look(reply)),
        }
    }
}

/// The board's only effect is a reply.
impl From<Reply> for Mail {
    fn from(reply: Reply) -> Self {
        match reply.to {
            Asker::Conductor => Self::Conductor(conductor::Event::Reply(Box::new(reply))),
            Asker::Lease => Self::Lease(lease::Event::Reply(Box::new(reply))),
        }
    }
}

impl From<lease::Effect> for Mail {
    fn from(effect: lease::Effect) -> Self {
        use lease::Effect as E;
        match effect {
            E::Ask(ask) => Self::Board(ask),
            E::Owned(owner) => Self::Conductor(conductor::Event::Owned(owner)),
            E::Disowned => Self::Conductor(conductor::Event::Disowned),
            E::Marked(ids) => Self::Conductor(conductor::Event::Marked(ids)),
            E::Hint(status) => Self::Conductor(conductor::Event::Hint(status)),
            E::Released => Self::Conductor(conductor::Event::Released),
        }
    }
}

impl From<delayer::Effect> for Mail {
    fn from(effect: delayer::Effect) -> Self {
        use delayer::Effect as E;
        match effect {
            E::Release(dispatch) => Self::Blocker(blocker::Event::Dispatch(dispatch)),
            E::Cancel(cancel) => Self::Blocker(blocker::Event::Cancel(cancel)),
            E::Drain => Self::Blocker(blocker::Event::Drain),
            E::Due(name) => Self::Conductor(conductor::Event::Due(name)),
            E::Ended(ended) => Self::Conductor(conductor::Event::Ended(ended)),
        }
    }
}

impl From<blocker::Effect> for Mail {
    fn from(effect: blocker::Effect) -> Self {
        use blocker::Effect as E;
        match effect {
            E::Ask(question) => Self::InProgress(in_progress::Event::Ask(question)),
            E::Release { key, name } => Self::InProgress(in_progress::Event::Release { key, name }),
            E::Pass(dispatch) => Self::Queuer(queuer::Event::Dispatch(dispatch)),
            E::Cancel(cancel) => Self::Queuer(queuer::Event::Cancel(cancel)),
            E::Drain => Self::Queuer(queuer::Event::Drain),
            E::Blocked(name) => Self::Conductor(conductor::Event::Blocked(name)),
            E::Unblocked(name) => Self::Conductor(conductor::Event::Unblocked(name)),
            E::Ended(ended) => Self::Conductor(conductor::Event::Ended(ended)),
        }
    }
}

impl From<in_progress::Effect> for Mail {
    fn from(effect: in_progress::Effect) -> Self {
        use in_progress::Effect as E;
        match effect {
            E::Verdict(verdict) => Self::Blocker(blocker::Event::Verdict(verdict)),
            E::Freed(key) => Self::Blocker(blocker::Event::Freed(key)),
            E::Ended(ended) => Self::Conductor(conductor::Event::Ended(ended)),
        }
    }
}

impl From<queuer::Effect> for Mail {
    fn from(effect: queuer::Effect) -> Self {
        use queuer::Effect as E;
        match effect {
            E::Dispatch(pool, dispatch) => Self::Pool(pool, pool::Event::Dispatch(dispatch)),
            E::Demand(pool, demand) => Self::Pool(pool, pool::Event::Demand(demand)),
            E::Cancel(pool, cancel) => Self::Pool(pool, pool::Event::Cancel(cancel)),
            E::Drain(pool) => Self::Pool(pool, pool::Event::Drain),
            E::Queued { key, name } => Self::InProgress(in_progress::Event::Queued { key, name }),
            E::Ended(ended) => Self::InProgress(in_progress::Event::Ended(ended)),
            E::Missed(cancel) => Self::Conductor(conductor::Event::Missed(cancel)),
        }
    }
}

impl From<pool::Effect> for Mail {
    fn from(effect: pool::Effect) -> Self {
        use pool::Effect as E;
        match effect {
            E::Window(window) => Self::Queuer(queuer::Event::Window(window)),
            E::Returned(dispatch) => Self::Queuer(queuer::Event::Returned(dispatch)),
            E::Known { pool, names } => Self::Queuer(queuer::Event::Learned { pool, names }),
            E::Started { key, name } => Self::InProgress(in_progress::Event::Started { key, name }),
            E::Ended(ended) => Self::InProgress(in_progress::Event::Ended(ended)),
            E::MayStart { pool, name } => Self::Conductor(conductor::Event::MayStart { pool, name }),
            E::Told(cancel) => Self::Conductor(conductor::Event::Told(cancel)),
            E::Missed(cancel) => Self::Conductor(conductor::Event::Missed(cancel)),
            E::Capacity { pool, slots } => Self::Conductor(conductor::Event::Capacity { pool, slots }),
            E::Learned { pool, names } => Self::Conductor(conductor::Event::Learned { pool, names }),
            E::Drained(pool) => Self::Conductor(conductor::Event::Drained(pool)),
            E::Status(reply, status) => Self::Answer(reply, Answer::Pool(status)),
            E::Worker { worker, command } => Self::Worker(worker, command),
        }
    }
}
