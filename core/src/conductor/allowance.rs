//! How many dispatches may still begin, where the settings bound them. One that never started does not count.

#[derive(Debug)]
pub(super) struct Allowance {
    /// `None`: any number.
    left: Option<u64>,
    in_yard: u64,
}

impl Allowance {
    pub(super) fn new(max: Option<u64>) -> Self {
        Self { left: max, in_yard: 0 }
    }

    /// A dispatch is in the yard and may start.
    pub(super) fn begun(&mut self) {
        self.in_yard += 1;
    }

    /// It ended. Whether it had started counts.
    pub(super) fn ended(&mut self, started: bool) {
        self.in_yard -= 1;
        self.left = self.left.map(|left| left.saturating_sub(started.into()));
    }

    /// How many more may come into the yard.
    pub(super) fn room(&self) -> usize {
        let room = |left: u64| usize::try_from(left.saturating_sub(self.in_yard)).unwrap_or(usize::MAX);
        self.left.map_or(usize::MAX, room)
    }

    pub(super) fn in_yard(&self) -> u64 {
        self.in_yard
    }

    /// Whether the last one has ended.
    pub(super) fn is_used_up(&self) -> bool {
        self.left == Some(0)
    }
}
