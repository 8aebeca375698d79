//! Which of the waiting requests go into one commit. What waits longer goes first; nothing is ever left out.

use std::collections::VecDeque;

use taskyard_core::store::{Ask, Request};

use crate::in_flight::Flight;

/// How many requests one commit may answer.
const ASKS_MAX: usize = 256;
/// How many rows one commit may touch, unless a single request touches more.
const ROWS_MAX: usize = 4_096;
/// So many rows are not shared out among commits: they cost about what a commit costs.
const ROWS_MIN: usize = 32;

/// The Conductor's requests that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    asks: VecDeque<(Ask, Option<Flight>)>,
    /// About how many rows they touch.
    rows: usize,
}

/// What one commit answers.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) asks: Vec<Ask>,
    /// Those that land once the replies are delivered.
    pub(super) flights: Vec<Flight>,
}

impl Waiting {
    /// Adds requests that came together. Their flight lands with the last of them.
    pub(super) fn add(&mut self, asks: Vec<Ask>, flight: Flight) {
        self.rows += asks.iter().map(|ask| size(&ask.request)).sum::<usize>();
        self.asks.extend(asks.into_iter().map(|ask| (ask, None)));
        if let Some((_, last)) = self.asks.back_mut().filter(|(_, last)| last.is_none()) {
            *last = Some(flight);
        }
    }

    /// Takes what fits into the next commit, beside the Lease's own requests, which go first. That is half of what waits:
    /// while it is committed others work on what the last commit answered, and the other half is at hand when it is done. In
    /// one commit all would have to wait for the disk together, and then the disk for all.
    pub(super) fn next(&mut self, own: Vec<Ask>) -> Batch {
        let mut batch = Batch { asks: own, flights: Vec::new() };
        let rows_max = (self.rows / 2).clamp(ROWS_MIN, ROWS_MAX);
        let mut rows = 0;
        while batch.asks.len() < ASKS_MAX
            && let Some((ask, _)) = self.asks.front()
        {
            let size = size(&ask.request);
            if rows > 0 && rows + size > rows_max {
                break;
            }
            rows += size;
            self.rows -= size;
            let Some((ask, flight)) = self.asks.pop_front() else { break };
            batch.asks.push(ask);
            batch.flights.extend(flight);
        }
        batch
    }

    /// Whether a commit could not take more.
    pub(super) fn is_full(&self) -> bool {
        self.asks.len() >= ASKS_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }
}

/// About how many rows a request touches; more than a commit may is as much as too many.
fn size(request: &Request) -> usize {
    match request {
        Request::Post { rows, .. } | Request::Tick { rows, .. } => rows.len(),
        Request::Settle(items) => items.len(),
        Request::Claim { ready, unjudged, .. } => ready.saturating_add(*unjudged),
        Request::Preload { up_to, .. }
        | Request::Promote { up_to }
        | Request::TakeOver { up_to }
        | Request::Requeue { up_to, .. }
        | Request::Purge { up_to, .. }
        | Request::Prune { up_to, .. } => *up_to,
        Request::List { limit, .. } | Request::ListTrash { limit, .. } => *limit,
        _ => 1,
    }
    .clamp(1, ROWS_MAX + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskyard_core::id::PoolId;
    use taskyard_core::store::{Asker, Filter, OwnerId};

    use super::*;
    use crate::in_flight::InFlight;

    fn ask(no: u64, request: Request) -> Ask {
        let request = Arc::new(request);
        Ask { owner: OwnerId(1), from: Asker::Conductor, no, request, oldest_open: 1 }
    }

    fn claim(no: u64, ready: usize) -> Ask {
        ask(no, Request::Claim { pool: PoolId(0), ready, unjudged: 0 })
    }

    fn numbers(batch: &Batch) -> Vec<u64> {
        batch.asks.iter().map(|ask| ask.no).collect()
    }

    #[test]
    fn a_commit_has_a_bound_on_rows_but_takes_one_request_whatever_its_size() {
        let mut waiting = Waiting::default();
        let asks = vec![claim(1, ROWS_MAX + 1), claim(2, ROWS_MAX), claim(3, 1), claim(4, 1)];
        waiting.add(asks, InFlight::default().launch());
        assert_eq!(numbers(&waiting.next(Vec::new())), [1]);
        assert_eq!(numbers(&waiting.next(Vec::new())), [2]);
        assert_eq!(numbers(&waiting.next(Vec::new())), [3, 4]);
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_commit_has_a_bound_on_requests() {
        let mut waiting = Waiting::default();
        let asks = (0..).map(|no| ask(no, Request::Count)).take(2 * ASKS_MAX + 2).collect();
        waiting.add(asks, InFlight::default().launch());
        assert!(waiting.is_full());
        assert_eq!(waiting.next(Vec::new()).asks.len(), ASKS_MAX);
        assert!(waiting.is_full());
        assert_eq!(waiting.next(Vec::new()).asks.len(), ASKS_MAX / 2 + 1);
        assert!(!waiting.is_full());
    }

    #[test]
    fn a_commit_takes_half_of_what_waits_unless_that_is_little() {
        let mut waiting = Waiting::default();
        let asks = (0..).map(|no| ask(no, Request::Count)).take(100).collect();
        waiting.add(asks, InFlight::default().launch());
        let sizes: Vec<_> = (0..3).map(|_| waiting.next(Vec::new()).asks.len()).collect();
        assert_eq!(sizes, [50, ROWS_MIN, 100 - 50 - ROWS_MIN]);
        assert!(waiting.is_empty());
    }

    #[test]
    fn what_came_together_lands_with_its_last_request() {
        let (mut waiting, in_flight) = (Waiting::default(), InFlight::default());
        waiting.add(vec![claim(1, ROWS_MAX), claim(2, ROWS_MAX)], in_flight.launch());
        drop(waiting.next(Vec::new()));
        assert_eq!(in_flight.count(), 1, "the second waits");
        drop(waiting.next(Vec::new()));
        assert_eq!(in_flight.count(), 0);
    }

    #[test]
    fn a_list_without_a_bound_is_a_request_like_others() {
        let mut waiting = Waiting::default();
        let list = Request::List { filter: Filter::default(), after: 0, limit: usize::MAX };
        waiting.add(vec![claim(1, 1), ask(2, list), claim(3, 1)], InFlight::default().launch());
        assert_eq!(numbers(&waiting.next(Vec::new())), [1]);
        assert_eq!(numbers(&waiting.next(Vec::new())), [2]);
        assert_eq!(numbers(&waiting.next(Vec::new())), [3]);
        assert_eq!(waiting.rows, 0);
    }
}
