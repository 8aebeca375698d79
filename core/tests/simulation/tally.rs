//! What befell the yards of many seeds: whoever changes the simulation sees by it what is still tried.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) steps: u64,
    pub(crate) runs: u64,
    /// Nodes that were killed.
    pub(crate) killed: u64,
    /// Nodes that did nothing for a while.
    pub(crate) halted: u64,
    /// Owners whose lease was taken.
    pub(crate) fenced: u64,
    /// Writes that were refused them.
    pub(crate) refused: u64,
    /// Runs beside an earlier one whose owner was fenced.
    pub(crate) overlaps: u64,
    /// Starts that were marked.
    pub(crate) marked: u64,
    /// Tasks that were trashed for what they did to their dispatchers.
    pub(crate) crashed: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            runs: self.runs + other.runs,
            killed: self.killed + other.killed,
            halted: self.halted + other.halted,
            fenced: self.fenced + other.fenced,
            refused: self.refused + other.refused,
            overlaps: self.overlaps + other.overlaps,
            marked: self.marked + other.marked,
            crashed: self.crashed + other.crashed,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, runs, killed, halted, fenced, refused, overlaps, marked, crashed } = self;
        write!(
            f,
            "{steps} steps, {runs} runs; {killed} nodes killed, {halted} halted, {fenced} owners fenced, "
        )?;
        write!(
            f,
            "{refused} writes refused, {overlaps} overlaps; {marked} starts marked, {crashed} tasks crashed"
        )
    }
}
