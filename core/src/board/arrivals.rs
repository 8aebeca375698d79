//! The rows in order of arrival, so that lists and cancels go on where an earlier one stopped. What leaves the board leaves
//! a gap behind: gaps are closed when there are more of them than rows, so that a task costs one push here and nothing else.

use std::collections::{BTreeMap, VecDeque};

use crate::id::Sequence;

/// Gaps that are left alone however few the rows are.
const GAPS: usize = 1_000;

/// Where the row of a sequence is, unless it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) sequence: Sequence,
    pub(super) place: u32,
}

/// All rows and some gaps, by sequence. There is one entry for each row that waits, so each has its half of the sequence
/// only; the other half it shares with those that came at about the same time.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    eras: BTreeMap<u32, VecDeque<Entry>>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    low: u32,
    place: u32,
}

impl Entry {
    fn arrival(self, era: u32) -> Arrival {
        Arrival { sequence: Sequence::from(era) << 32 | Sequence::from(self.low), place: self.place }
    }
}

fn split(sequence: Sequence) -> (u32, u32) {
    ((sequence >> 32) as u32, sequence as u32)
}

impl Arrivals {
    /// Adds the one that came last.
    pub(super) fn add(&mut self, sequence: Sequence, place: u32) {
        let (era, low) = split(sequence);
        self.eras.entry(era).or_default().push_back(Entry { low, place });
        self.len += 1;
    }

    /// Whether it is time to [close the gaps](Self::keep) among so many rows.
    pub(super) fn has_gaps(&self, rows: usize) -> bool {
        self.len > 2 * rows + GAPS
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(Arrival) -> bool) {
        self.eras.retain(|era, entries| {
            entries.retain(|entry| is_there(entry.arrival(*era)));
            if entries.capacity() > 4 * entries.len() + GAPS {
                entries.shrink_to(2 * entries.len() + GAPS);
            }
            !entries.is_empty()
        });
        self.len = self.eras.values().map(VecDeque::len).sum();
    }

    /// All that came after a sequence, gaps included.
    pub(super) fn after(&self, sequence: Sequence) -> impl Iterator<Item = Arrival> {
        let (first, low) = split(sequence.saturating_add(1));
        self.eras.range(first..).flat_map(move |(era, entries)| {
            let from = if *era == first { entries.partition_point(|entry| entry.low < low) } else { 0 };
            entries.range(from..).map(move |entry| entry.arrival(*era))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERA: Sequence = 1 << 32;

    fn four() -> Arrivals {
        let mut arrivals = Arrivals::default();
        for sequence in [3, 5, ERA - 1, ERA + 2] {
            arrivals.add(sequence, 0);
        }
        arrivals
    }

    fn after(sequence: Sequence) -> Vec<Sequence> {
        four().after(sequence).map(|arrival| arrival.sequence).collect()
    }

    #[test]
    fn whoever_came_after_a_sequence_is_found_whether_it_is_there_or_not() {
        assert_eq!(after(0), [3, 5, ERA - 1, ERA + 2]);
        assert_eq!(after(3), [5, ERA - 1, ERA + 2]);
        assert_eq!(after(4), [5, ERA - 1, ERA + 2]);
        assert_eq!(after(ERA - 1), [ERA + 2]);
        assert_eq!(after(ERA), [ERA + 2]);
        assert!(after(ERA + 2).is_empty() && after(Sequence::MAX).is_empty());
    }

    #[test]
    fn gaps_are_closed_once_there_are_more_of_them_than_rows() {
        let mut arrivals = four();
        for sequence in ERA + 3..ERA + 3_000 {
            arrivals.add(sequence, 0);
        }
        assert!(arrivals.has_gaps(1_000) && !arrivals.has_gaps(1_001));
        arrivals.keep(|arrival| arrival.sequence > ERA + 1_999);
        assert_eq!(arrivals.after(0).count(), 1_000);
        assert!(!arrivals.has_gaps(1) && arrivals.eras.len() == 1);
    }
}
