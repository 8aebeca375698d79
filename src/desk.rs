//! The desk knows who waits at the edge for which answer, by token. It hands answers out and forgets who got theirs; when
//! the yard ends it sends everybody away.
//!
//! All answers of a turn come at once: the lock is taken once for them, and nobody is woken under it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_actors::guardian::{Closed, Guardian};
use taskyard_actors::post::Edge;
use taskyard_core::conductor::{Answer, Happened};
use taskyard_core::id::Token;
use taskyard_core::map::Map;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::errors::YardDown;
use crate::task_handle::Ended;

/// How many news an observer may be behind before it misses the oldest.
const NEWS_KEPT: usize = 4_096;

/// Who waits for what.
pub(crate) struct Desk {
    waiters: Mutex<Waiters>,
    /// `None` once the yard has ended.
    news: Mutex<Option<broadcast::Sender<Happened>>>,
    guardian: Guardian,
}

#[derive(Default)]
struct Waiters {
    last: Token,
    waiting: Map<Token, Waiter>,
    closed: bool,
}

enum Waiter {
    /// For one answer.
    One(oneshot::Sender<Answer>),
    /// For the outcomes of so many tasks.
    Ends(mpsc::UnboundedSender<Vec<Ended>>, usize),
}

/// What is handed out once the lock is released. Whoever does not wait any more gets nothing.
enum Delivery {
    One(oneshot::Sender<Answer>, Answer),
    Ends(Token, mpsc::UnboundedSender<Vec<Ended>>, Vec<Ended>),
}

impl Desk {
    pub(crate) fn new(guardian: Guardian) -> Self {
        let news = Mutex::new(Some(broadcast::Sender::new(NEWS_KEPT)));
        Self { waiters: Mutex::default(), news, guardian }
    }

    /// Somebody waits for an answer, or for one task's outcome.
    pub(crate) fn await_one(&self) -> Result<(Token, oneshot::Receiver<Answer>), YardDown> {
        let (give, take) = oneshot::channel();
        Ok((self.enter(Waiter::One(give))?, take))
    }

    /// Somebody waits for the ends of so many tasks. The channel closes after the last one.
    pub(crate) fn await_ends(
        &self,
        tasks: usize,
    ) -> Result<(Token, mpsc::UnboundedReceiver<Vec<Ended>>), YardDown> {
        let (give, take) = mpsc::unbounded_channel();
        Ok((self.enter(Waiter::Ends(give, tasks))?, take))
    }

    /// So many of the tasks that are waited for were refused.
    pub(crate) fn expect_fewer(&self, token: Token, refused: usize) {
        self.lock().count_down(token, refused);
    }

    /// Whether somebody waited there, who does not any more.
    pub(crate) fn give_up(&self, token: Token) -> bool {
        self.lock().waiting.remove(&token).is_some()
    }

    /// Somebody waits until this is dropped, and does not wait any more then.
    pub(crate) fn patience(&self, token: Token) -> Patience<'_> {
        Patience { desk: self, token }
    }

    /// What happens from now on until the yard ends.
    pub(crate) fn observe(&self) -> broadcast::Receiver<Happened> {
        self.news().as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe)
    }

    /// Why the yard is down; for whoever was sent away.
    pub(crate) fn down(&self) -> YardDown {
        YardDown { why: self.guardian.reason().unwrap_or(Closed::Abandoned) }
    }

    /// Sends everybody away, and who comes later.
    pub(crate) fn close(&self) {
        let mut waiters = self.lock();
        waiters.closed = true;
        let gone = std::mem::take(&mut waiters.waiting);
        drop(waiters);
        drop(gone);
        drop(self.news().take());
    }

    fn enter(&self, waiter: Waiter) -> Result<Token, YardDown> {
        let mut waiters = self.lock();
        if waiters.closed {
            drop(waiters);
            return Err(self.down());
        }
        waiters.last += 1;
        let token = waiters.last;
        waiters.waiting.insert(token, waiter);
        Ok(token)
    }

    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn news(&self) -> MutexGuard<'_, Option<broadcast::Sender<Happened>>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiters {
    /// Finds who waits for the answer. Outcomes in a row for one token become one delivery.
    fn address(&mut self, token: Token, answer: Answer, deliveries: &mut Vec<Delivery>) {
        let Some(Waiter::Ends(to, _)) = self.waiting.get(&token) else {
            if let Some(Waiter::One(to)) = self.waiting.remove(&token) {
                deliveries.push(Delivery::One(to, answer));
            }
            return;
        };
        if let Some(ended) = Ended::read(answer) {
            match deliveries.last_mut() {
                Some(Delivery::Ends(last, _, run)) if *last == token => run.push(ended),
                _ => deliveries.push(Delivery::Ends(token, to.clone(), vec![ended])),
            }
        }
        self.count_down(token, 1);
    }

    fn count_down(&mut self, token: Token, by: usize) {
        if let Some(Waiter::Ends(_, left)) = self.waiting.get_mut(&token) {
            *left = left.saturating_sub(by);
            if *left == 0 {
                self.waiting.remove(&token);
            }
        }
    }
}

impl Delivery {
    fn hand_out(self) {
        match self {
            Self::One(to, answer) => drop(to.send(answer)),
            Self::Ends(_, to, ended) => drop(to.send(ended)),
        }
    }
}

impl Edge for Desk {
    fn answer(&self, answers: Vec<(Token, Answer)>) {
        let drained = answers.iter().any(|(_, answer)| matches!(answer, Answer::Drained { .. }));
        let mut deliveries = Vec::new();
        let mut waiters = self.lock();
        for (token, answer) in answers {
            waiters.address(token, answer, &mut deliveries);
        }
        drop(waiters);
        deliveries.into_iter().for_each(Delivery::hand_out);
        if drained {
            self.guardian.close(Closed::Drained);
        }
    }

    fn tell(&self, news: Vec<Happened>) {
        if let Some(sender) = self.news().as_ref().filter(|sender| sender.receiver_count() > 0) {
            for happened in news {
                drop(sender.send(happened));
            }
        }
    }
}

/// Somebody's waiting. A question that is dropped must not keep its place: it may be asked again and again.
pub(crate) struct Patience<'a> {
    desk: &'a Desk,
    token: Token,
}

impl Patience<'_> {
    /// Somebody else goes on waiting.
    pub(crate) fn hand_over(self) {
        std::mem::forget(self);
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        self.desk.give_up(self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stops_waiting_is_forgotten() {
        let desk = Desk::new(Guardian::default());
        let (token, _answer) = desk.await_one().unwrap();
        drop(desk.patience(token));
        assert!(desk.lock().waiting.is_empty());
        let (token, _answer) = desk.await_one().unwrap();
        desk.patience(token).hand_over();
        assert_eq!(desk.lock().waiting.len(), 1);
    }
}
