//! Distributions in little memory.

/// Buckets per power of two.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 5;
/// A bucket for each value below [`STEPS`], and [`STEPS`] buckets for each power of two above.
const BUCKETS: usize = STEPS * (u64::BITS - STEP_BITS + 1) as usize;

/// The number of occurrences of each value: ticks, cycles, nanoseconds or any other `u64`.
///
/// Values in one bucket differ by at most 1/32: a [`quantile`](Self::quantile) lies within
/// [`RELATIVE_ERROR`](Self::RELATIVE_ERROR) of the recorded value. Values below 32, the smallest and the
/// largest are exact. All of `u64` fits, in 7.5 KiB without an allocator.
///
/// ```
/// use linefill::stats::Histogram;
///
/// let mut ticks = Histogram::new();
/// (1..=1000).for_each(|value| ticks.record(value));
/// let mut slow = Histogram::new();
/// slow.record(70_000);
/// ticks.merge(&slow);
/// assert_eq!((ticks.count(), ticks.max()), (1001, Some(70_000)));
/// let median = ticks.quantile(0.5).unwrap() as f64;
/// assert!((median / 501.0 - 1.0).abs() <= Histogram::RELATIVE_ERROR);
/// println!("{ticks}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    count: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// The largest difference between a quantile and the recorded value, as a fraction of the value:
    /// half a bucket.
    pub const RELATIVE_ERROR: f64 = 0.5 / STEPS as f64;

    /// Returns an empty histogram.
    pub const fn new() -> Self {
        Histogram { counts: [0; BUCKETS], count: 0, min: u64::MAX, max: 0 }
    }

    /// Counts a value. The count of a bucket saturates at `u32::MAX`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = &mut self.counts[bucket(value)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*more);
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest value, or `None` if there is none.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value, or `None` if there is none.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the value that a share `q` (0 to 1) of all values does not exceed: 0.5 is the median.
    /// 0.999 is the p99.9, which is the largest value if there are fewer than a thousand. Returns `None`
    /// if there is no value.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        // A bucket that is full counts no more, and the rank is one among the values that are counted.
        let counted: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let last = counted.checked_sub(1)?;
        let place = q.clamp(0.0, 1.0) * counted as f64;
        let whole = place as u64;
        let rank = whole + u64::from((whole as f64) < place);
        // The extremes are known exactly, unlike their buckets.
        match rank.saturating_sub(1).min(last) {
            0 => return Some(self.min),
            place if place == last => return Some(self.max),
            _ => {}
        }
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        });
        let (lowest, highest) = values(bucket?);
        Some((lowest + (highest - lowest) / 2).clamp(self.min, self.max))
    }

    /// Returns the buckets that hold values, in ascending order: the smallest and the largest value of
    /// each, and the number of recorded values.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        let buckets = self.counts.iter().enumerate();
        buckets.filter(|&(_, &count)| count > 0).map(|(bucket, &count)| {
            let (lowest, highest) = values(bucket);
            (lowest, highest, count)
        })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl core::fmt::Display for Histogram {
    /// Prints `p50 12, p90 14, p99 80, p99.9 312, max 4711 of 10000`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Some(max) = self.max() else { return f.write_str("nothing recorded") };
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            write!(f, "{name} {}, ", self.quantile(q).unwrap_or(max))?;
        }
        write!(f, "max {max} of {}", self.count)
    }
}

/// Returns the bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - STEP_BITS;
    // At least STEPS, and less than twice STEPS.
    let step = (value >> shift) as usize;
    STEPS * shift as usize + step
}

/// Returns the smallest and the largest value of a bucket.
fn values(bucket: usize) -> (u64, u64) {
    if bucket < STEPS {
        return (bucket as u64, bucket as u64);
    }
    let shift = bucket / STEPS - 1;
    let lowest = ((STEPS + bucket % STEPS) as u64) << shift;
    (lowest, lowest + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Rng;

    #[test]
    fn buckets_part_all_values_without_a_gap() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (lowest, highest) = values(index);
            assert_eq!((lowest, bucket(lowest), bucket(highest)), (next, index, index));
            let reach = (highest - lowest) as f64 / 2.0;
            assert!(reach <= Histogram::RELATIVE_ERROR * lowest as f64, "{lowest}");
            next = highest.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the greatest value");
    }

    /// Quantiles agree with those of the sorted values, over many orders of magnitude.
    #[test]
    fn quantiles_lie_within_the_stated_error() {
        let mut rng = Rng::new(7);
        let mut values: [u64; 3000] = [0; 3000];
        values.fill_with(|| (rng.below(1 << 62) >> rng.below(60)) as u64);
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        for permille in 0..=1000 {
            let q = f64::from(permille) / 1000.0;
            let rank = (q * values.len() as f64).ceil().max(1.0);
            let wanted = values[rank as usize - 1] as f64;
            let got = histogram.quantile(q).unwrap() as f64;
            // Half a bucket, whose middle is rounded down.
            let error = Histogram::RELATIVE_ERROR * wanted + 0.5;
            assert!((got - wanted).abs() <= error, "{q}: {got} {wanted}");
        }
        assert_eq!(histogram.min(), Some(values[0]));
        assert_eq!(histogram.max(), values.last().copied());
    }

    #[test]
    fn what_two_saw_is_what_one_would_have_seen() {
        let mut rng = Rng::new(3);
        let [mut all, mut even, mut odd] = [const { Histogram::new() }; 3];
        for index in 0..500 {
            let value = rng.below(1 << 30) as u64;
            all.record(value);
            let half = if index % 2 == 0 { &mut even } else { &mut odd };
            half.record(value);
        }
        even.merge(&odd);
        assert!(even == all);
        let recorded: u64 = all.buckets().map(|(.., count)| u64::from(count)).sum();
        assert_eq!((recorded, all.count()), (500, 500));
    }

    /// A bucket counts up to `u32::MAX` values.
    #[test]
    fn a_full_bucket_leaves_quantiles_among_what_is_counted() {
        let mut histogram = Histogram::new();
        histogram.record(10);
        for _ in 0..33 {
            let again = histogram.clone();
            histogram.merge(&again);
        }
        histogram.record(1_000_000);
        assert_eq!(histogram.quantile(0.5), Some(10));
        assert_eq!(histogram.quantile(1.0), Some(1_000_000));
    }

    #[test]
    fn nothing_has_no_quantile_and_one_value_is_all_of_them() {
        extern crate std;
        let mut histogram = Histogram::new();
        assert_eq!((histogram.quantile(0.5), histogram.max()), (None, None));
        assert_eq!(std::format!("{histogram}"), "nothing recorded");
        histogram.record(1 << 40);
        assert_eq!(histogram.quantile(0.0), Some(1 << 40));
        assert_eq!(histogram.quantile(0.999), Some(1 << 40));
        let text = std::format!("{histogram}");
        assert!(text.ends_with("p99.9 1099511627776, max 1099511627776 of 1"), "{text}");
    }
}
