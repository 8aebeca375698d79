//! The rows in order of arrival, so that lists and cancels go on where an earlier one stopped. What leaves the board leaves
//! a gap behind: gaps are closed when there are more of them than rows, so that a task costs one push here and nothing else.

use std::collections::VecDeque;

use crate::id::Sequence;

/// Gaps that are left alone however few the rows are.
const GAPS: usize = 1_000;

/// Where the row of a sequence is, unless it is gone. Packed, as there is one for each row that waits.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
pub(super) struct Arrival {
    pub(super) sequence: Sequence,
    pub(super) place: u32,
}

/// All rows and some gaps, by sequence.
#[derive(Debug, Default)]
pub(super) struct Arrivals(VecDeque<Arrival>);

impl Arrivals {
    /// Adds the one that came last.
    pub(super) fn add(&mut self, sequence: Sequence, place: u32) {
        self.0.push_back(Arrival { sequence, place });
    }

    /// Whether it is time to [close the gaps](Self::keep) among so many rows.
    pub(super) fn has_gaps(&self, rows: usize) -> bool {
        self.0.len() > 2 * rows + GAPS
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(Arrival) -> bool) {
        self.0.retain(|arrival| is_there(*arrival));
        if self.0.capacity() > 4 * self.0.len() + GAPS {
            self.0.shrink_to(2 * self.0.len() + GAPS);
        }
    }

    /// At most so many that came after a sequence, gaps included; and where the next ones begin, if there may be more.
    pub(super) fn page(
        &self,
        after: Sequence,
        at_most: usize,
    ) -> (impl Iterator<Item = Arrival>, Option<Sequence>) {
        let from = self.0.partition_point(|arrival| arrival.sequence <= after);
        let to = self.0.len().min(from.saturating_add(at_most));
        let last = to.checked_sub(1).and_then(|last| self.0.get(last)).map(|arrival| arrival.sequence);
        (self.0.range(from..to).copied(), last.filter(|_| to < self.0.len()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Arrival> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Arrivals {
        let mut arrivals = Arrivals::default();
        for sequence in [3, 5, 9] {
            arrivals.add(sequence, 0);
        }
        arrivals
    }

    fn page(after: Sequence, at_most: usize) -> (Vec<Sequence>, Option<Sequence>) {
        let arrivals = three();
        let (page, more) = arrivals.page(after, at_most);
        (page.map(|arrival| arrival.sequence).collect(), more)
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        assert_eq!(page(0, 2), (vec![3, 5], Some(5)));
        assert_eq!(page(5, 2), (vec![9], None));
        assert_eq!(page(0, 3), (vec![3, 5, 9], None));
        assert_eq!(page(9, 3), (vec![], None));
    }

    #[test]
    fn a_cursor_need_not_be_there_any_more() {
        assert_eq!(page(4, 1), (vec![5], Some(5)));
    }

    #[test]
    fn gaps_are_closed_once_there_are_more_of_them_than_rows() {
        let mut arrivals = Arrivals::default();
        for sequence in 1..=3_001 {
            arrivals.add(sequence, 0);
        }
        assert!(arrivals.has_gaps(1_000) && !arrivals.has_gaps(1_001));
        arrivals.keep(|arrival| arrival.sequence % 2 == 0);
        assert_eq!(arrivals.iter().count(), 1_500);
    }
}
