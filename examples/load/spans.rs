//! A histogram of time spans: exact below 64 µs, within 1/32 above, of a fixed size however many there are.

/// Buckets between one power of two and the next.
const STEPS: u64 = 32;
const BUCKETS: usize = 2_048;

/// Spans, by size.
#[derive(Clone)]
pub(crate) struct Spans {
    buckets: Box<[u64]>,
    count: u64,
    max: u64,
}

impl Default for Spans {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), count: 0, max: 0 }
    }
}

impl Spans {
    /// One more, in microseconds.
    pub(crate) fn add(&mut self, span: u64) {
        self.buckets[bucket(span)] += 1;
        self.count += 1;
        self.max = self.max.max(span);
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All those too.
    pub(crate) fn merge(&mut self, others: &Self) {
        self.buckets.iter_mut().zip(&others.buckets).for_each(|(mine, theirs)| *mine += theirs);
        self.count += others.count;
        self.max = self.max.max(others.max);
    }

    /// The least span that no more than this part of all exceeds; `part` is from 0 to 1.
    pub(crate) fn quantile(&self, part: f64) -> u64 {
        let wanted = (part * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(self.max, largest).min(self.max)
    }

    /// The longest, exactly.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }
}

/// Where a span is counted.
fn bucket(span: u64) -> usize {
    let shift = (span / STEPS).checked_ilog2().unwrap_or(0);
    (u64::from(shift) * STEPS + (span >> shift)) as usize
}

/// The largest span of a bucket.
fn largest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    ((bucket - shift * STEPS + 1) << shift) - 1
}
