//! Order statistics, and the summary of a set of samples.

use super::Interval;

/// Median, spread and extremes of a set of samples, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of samples.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The median absolute deviation from the median.
    pub mad: f64,
    /// The smallest sample.
    pub min: f64,
    /// The 95 % interval of the median.
    pub interval: Interval,
}

impl Summary {
    /// Summarises `values`, and reorders them. Returns `None` if there are none.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let (n, median, min) = (values.len(), median(values)?, values[0]);
        let [low, high] = ranks_around_median(n).map(|rank| values[rank]);
        let interval = Interval::new(low, high);
        Some(Summary { n, median, mad: mad(values, median)?, min, interval })
    }

    /// Converts the summary to another unit, by a `factor` above 0.
    pub fn scaled(self, factor: f64) -> Self {
        Summary {
            n: self.n,
            median: self.median * factor,
            mad: self.mad * factor,
            min: self.min * factor,
            interval: self.interval.scaled(factor),
        }
    }

    /// Returns the summary of one value known exactly, such as a count.
    pub fn exact(value: f64) -> Self {
        Summary { n: 1, median: value, mad: 0.0, min: value, interval: Interval::exact(value) }
    }
}

/// Returns the ranks, from 0, of the sorted values that are the ends of the 95 % confidence interval of the
/// median of `n` values.
///
/// They are `1.96 sqrt(n)` apart, by the normal approximation of the binomial count of samples below the
/// true median, and as far from one end as from the other. No shape of the distribution is assumed. Below six
/// samples even the extremes cover less than 95 %, and the extremes are returned.
fn ranks_around_median(n: usize) -> [usize; 2] {
    // 1.96 squared is 3.8416: rounds the distance up without a floating-point square root.
    let apart = (38_416 * n / 10_000).isqrt() + 1;
    let low = (n - 1).saturating_sub(apart) / 2;
    [low, n - 1 - low]
}

/// Returns the median of sorted values: the middle value, or the mean of the middle two. `None` if
/// empty.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0)
}

/// Returns the median of values in any order; `None` if there are none.
#[cfg(feature = "alloc")]
pub(crate) fn median_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: alloc::vec::Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    median(&values)
}

/// Returns the `q`-quantile (0 to 1) of sorted values, by linear interpolation between neighbours.
/// `None` if empty.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    let share = place - below as f64;
    // The neighbour may be infinite, and no part of it is a number.
    if share == 0.0 {
        return Some(sorted[below]);
    }
    Some(sorted[below] * (1.0 - share) + sorted[above] * share)
}

/// Returns the median absolute deviation of `values` from `center`. Overwrites `values` with the sorted
/// deviations. Returns `None` if empty.
pub fn mad(values: &mut [f64], center: f64) -> Option<f64> {
    for value in values.iter_mut() {
        *value = (*value - center).abs();
    }
    values.sort_unstable_by(f64::total_cmp);
    median(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Rng;

    #[test]
    fn a_summary_of_known_values() {
        let summary = Summary::of(&mut [5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((summary.n, summary.median, summary.min), (5, 3.0, 1.0));
        assert_eq!(summary.mad, 1.0);
        assert_eq!(summary.interval, Interval::new(1.0, 5.0));
        assert_eq!(Summary::of(&mut []), None);
        let unknown = Summary::of(&mut [f64::NAN, 1.0]).unwrap();
        assert!(unknown.median.is_nan() && unknown.interval.hi.is_nan());
    }

    /// The number of samples below the true median has a binomial distribution.
    #[test]
    fn the_ranks_cover_the_median_of_any_number_of_values() {
        for n in 6..200_usize {
            let [low, high] = ranks_around_median(n);
            let mut share = 0.5_f64.powi(n as i32);
            let mut covered = 0.0;
            for below in 0..=n {
                if low < below && below <= high {
                    covered += share;
                }
                share *= (n - below) as f64 / (below + 1) as f64;
            }
            assert!(covered >= 0.95, "{n}: {covered}");
            // One rank less on each side would not do, or the extremes are needed.
            assert!(covered < 0.995, "{n}: {covered}");
        }
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_it_says() {
        let mut rng = Rng::new(1);
        let trials = 2000;
        let covered = (0..trials)
            .filter(|_| {
                // A skewed distribution with median 0.25: the square of a uniform number.
                let mut values = [0.0; 41];
                values.fill_with(|| {
                    let uniform = rng.below(1 << 20) as f64 / f64::from(1 << 20);
                    uniform * uniform
                });
                let interval = Summary::of(&mut values).unwrap().interval;
                interval.lo <= 0.25 && 0.25 <= interval.hi
            })
            .count();
        let share = covered as f64 / f64::from(trials);
        assert!((0.94..=0.99).contains(&share), "covered {share}");
    }

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let sorted = [0.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile(&sorted, 0.25), Some(10.0));
        assert_eq!(quantile(&sorted, 0.1), Some(4.0));
        assert_eq!(quantile(&sorted, 1.0), Some(40.0));
        assert_eq!(quantile(&[1.0, 2.0, f64::INFINITY], 0.5), Some(2.0));
    }

    #[test]
    fn one_outlier_does_not_move_the_mad() {
        assert_eq!(mad(&mut [1.0, 2.0, 3.0, 4.0, 1000.0], 3.0), Some(1.0));
    }
}
