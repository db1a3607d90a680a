//! Intervals, and arithmetic on them.

#[cfg(all(feature = "experiments", not(feature = "std")))]
use crate::float::Float as _;

/// A closed interval that is believed to contain a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// The [doubt](Interval::doubt) above which an interval counts as noisy.
pub const NOISY: f64 = 0.015;

/// The side of a threshold on which an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Wholly below the threshold.
    Below,
    /// Across the threshold: the data do not decide.
    Across,
    /// At or above the threshold.
    Above,
}

impl Interval {
    /// Returns the interval between two ends, in either order. An end that is NaN stays NaN.
    pub fn new(a: f64, b: f64) -> Self {
        // Not by `f64::min`, which passes over NaN.
        let (lo, hi) = if a > b { (b, a) } else { (a, b) };
        Interval { lo, hi }
    }

    /// Returns the interval of a value known exactly.
    pub const fn exact(value: f64) -> Self {
        Interval { lo: value, hi: value }
    }

    /// Returns the middle.
    pub fn middle(self) -> f64 {
        (self.lo + self.hi) / 2.0
    }

    /// Returns the value that is shown beside the interval. For a positive interval this is the geometric mean,
    /// because the uncertainty of a time, a rate or a quotient is a factor in both directions. For any other
    /// interval it is the middle.
    pub fn center(self) -> f64 {
        if self.lo <= 0.0 || !self.hi.is_finite() {
            return self.middle();
        }
        // The arithmetic and the harmonic mean enclose the geometric one, and each round brings them closer.
        // Without std there is no square root.
        let Interval { mut lo, mut hi } = self;
        while hi - lo > 1e-12 * lo {
            (lo, hi) = (2.0 / (1.0 / lo + 1.0 / hi), f64::midpoint(lo, hi));
        }
        lo
    }

    /// Returns half the width as a fraction of the middle; infinite if the middle is zero.
    pub fn doubt(self) -> f64 {
        let middle = self.middle();
        if middle == 0.0 {
            return f64::INFINITY;
        }
        (self.hi - self.lo) / 2.0 / middle.abs()
    }

    /// Whether the doubt exceeds [`NOISY`]: the third digit of the middle is then unreliable.
    pub fn is_noisy(self) -> bool {
        self.doubt() > NOISY
    }

    /// Whether the interval tells a value to its order of magnitude: the upper bound is at most twice the lower one.
    /// Of a wider interval the center is a number that was not measured.
    pub fn tells_a_value(self) -> bool {
        let Interval { lo, hi } = self;
        lo == hi || (lo > 0.0 && hi <= 2.0 * lo) || (hi < 0.0 && lo >= 2.0 * hi)
    }

    /// Widens the interval to at least `share` of its middle on either side.
    ///
    /// An interval from one set of samples says nothing about differences due to other physical pages or
    /// another minute. Comparisons between cases add that uncertainty.
    pub fn widened(self, share: f64) -> Self {
        let reach = self.middle().abs() * share;
        Interval { lo: self.lo.min(self.middle() - reach), hi: self.hi.max(self.middle() + reach) }
    }

    /// Returns the interval with the same middle and `share` of the width.
    pub fn narrowed(self, share: f64) -> Self {
        let reach = share * (self.hi - self.lo) / 2.0;
        Interval::new(self.middle() - reach, self.middle() + reach)
    }

    /// Returns the smallest interval that contains both.
    pub fn hull(self, other: Self) -> Self {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the smallest interval that contains all of several intervals, or `None` if there are none.
    pub fn hull_of(intervals: &[Self]) -> Option<Self> {
        intervals.iter().copied().reduce(Self::hull)
    }

    /// Returns the interval of the smaller of two values.
    pub fn least(self, other: Self) -> Self {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    /// Returns the interval of the larger of two values.
    pub fn most(self, other: Self) -> Self {
        Interval { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the median of several intervals, bound by bound, or `None` if there are none.
    #[cfg(feature = "alloc")]
    pub fn median_of(intervals: &[Self]) -> Option<Self> {
        let median = |end: fn(&Self) -> f64| super::median_of(intervals.iter().map(end));
        Some(Interval::new(median(|i| i.lo)?, median(|i| i.hi)?))
    }

    /// Returns the quotient of two positive quantities. `None` unless both intervals are wholly
    /// positive.
    pub fn ratio(self, to: Self) -> Option<Self> {
        (self.lo > 0.0 && to.lo > 0.0)
            .then(|| Interval { lo: self.lo / to.hi, hi: self.hi / to.lo })
    }

    /// Returns the quotient of two positive quantities with independent uncertainties. Relative half
    /// widths add up like standard deviations, because both quantities hardly ever lie at their ends at
    /// once (Zou and Donner 2008, "Construction of confidence limits about effect measures"). `None`
    /// unless both intervals are wholly positive.
    #[cfg(any(feature = "std", feature = "experiments"))]
    pub fn quotient(self, to: Self) -> Option<Self> {
        let logs = |of: Self| {
            let (lo, hi) = (of.lo.ln(), of.hi.ln());
            (f64::midpoint(lo, hi), (hi - lo) / 2.0)
        };
        (self.lo > 0.0 && to.lo > 0.0).then(|| {
            let ((of, width), (to, to_width)) = (logs(self), logs(to));
            let together = width.hypot(to_width);
            Interval::new((of - to - together).exp(), (of - to + together).exp())
        })
    }

    /// Returns the difference of two quantities with independent uncertainties. Half widths add up like
    /// standard deviations, as in [`quotient`](Self::quotient).
    #[cfg(feature = "std")]
    pub fn difference(self, less: Self) -> Self {
        let middle = self.middle() - less.middle();
        let reach = ((self.hi - self.lo) / 2.0).hypot((less.hi - less.lo) / 2.0);
        Interval::new(middle - reach, middle + reach)
    }

    /// Converts the interval to another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Interval::new(self.lo * factor, self.hi * factor)
    }

    /// Returns the side of `threshold` on which the interval lies.
    pub fn side_of(self, threshold: f64) -> Side {
        if self.hi < threshold {
            Side::Below
        } else if self.lo >= threshold {
            Side::Above
        } else {
            Side::Across
        }
    }
}

impl core::fmt::Display for Interval {
    /// Prints `center [lo, hi]`, `lo to hi` if the interval tells no value, or one number if it is exact. An
    /// exact whole number, such as a count, has no digits behind the point.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Interval { lo, hi } = *self;
        if self.tells_a_value() {
            return self.write_with(self.center(), f);
        }
        let digits = self.digits();
        write!(f, "{lo:.digits$} to {hi:.digits$}")
    }
}

impl Interval {
    /// Returns the digits behind the point with which the interval is shown: none for an exact whole number,
    /// such as a count; otherwise two, fewer from 10 on, and more below 0.1.
    pub(crate) fn digits(self) -> usize {
        let Interval { lo, hi } = self;
        if lo == hi && lo % 1.0 == 0.0 {
            return 0;
        }
        digits_of(if self.tells_a_value() { self.center() } else { f64::max(lo.abs(), hi.abs()) })
    }

    /// Prints `value [lo, hi]`, with digits as for this value; an exact number as [`Display`] does.
    ///
    /// [`Display`]: core::fmt::Display
    pub(crate) fn write_with(
        self,
        value: f64,
        f: &mut core::fmt::Formatter<'_>,
    ) -> core::fmt::Result {
        let Interval { lo, hi } = self;
        if lo == hi {
            let digits = self.digits();
            return write!(f, "{lo:.digits$}");
        }
        let digits = digits_of(value);
        write!(f, "{value:.digits$} [{lo:.digits$}, {hi:.digits$}]")
    }
}

/// Returns the digits behind the point that show two significant digits of a value, from 1 on three.
fn digits_of(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        size if size >= 0.01 => 3,
        size if size >= 0.001 => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "std")]
    #[test]
    fn a_wide_interval_is_shown_without_a_value() {
        let shown = |lo, hi| std::format!("{}", Interval::new(lo, hi));
        assert_eq!(shown(2.0, 2.0), "2");
        assert_eq!(shown(0.0, 0.0), "0");
        assert_eq!(shown(2.5, 2.5), "2.50");
        assert_eq!(shown(0.0018, 0.0024), "0.0021 [0.0018, 0.0024]");
        assert_eq!(shown(-1.704, 1.701), "-1.70 to 1.70");
        assert_eq!(shown(2.0, 4.0), "2.83 [2.00, 4.00]");
        assert_eq!(shown(2.0, 4.1), "2.00 to 4.10");
        assert_eq!(shown(-2.8, 30.3), "-2.8 to 30.3");
        assert_eq!(shown(-4.0, -2.0), "-3.00 [-4.00, -2.00]");
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_quotient_is_narrower_than_the_worst_of_both() {
        let exact = Interval::exact(2.0).quotient(Interval::exact(4.0)).unwrap();
        assert!((exact.lo - 0.5).abs() < 1e-12 && (exact.hi - 0.5).abs() < 1e-12);
        let wide = Interval::new(1.0, 4.0);
        let one = wide.quotient(Interval::exact(1.0)).unwrap();
        assert!((one.lo - 1.0).abs() < 1e-12 && (one.hi - 4.0).abs() < 1e-12);
        let both = wide.quotient(wide).unwrap();
        let half = 2f64.powf(2f64.sqrt());
        assert!((both.hi - half).abs() < 1e-12 && (both.lo * half - 1.0).abs() < 1e-12);
        assert_eq!(Interval::new(-1.0, 1.0).quotient(wide), None);
    }

    #[cfg(feature = "std")]
    #[test]
    fn doubts_of_a_difference_add_up_like_standard_deviations() {
        let difference = Interval::new(7.0, 13.0).difference(Interval::new(0.0, 8.0));
        assert_eq!(difference, Interval::new(1.0, 11.0));
    }

    #[test]
    fn the_center_of_a_positive_interval_is_its_geometric_mean() {
        for (lo, hi) in [(2.0, 8.0), (0.3, 20.9), (1e-9, 1e9), (5.0, 5.0)] {
            let center = Interval::new(lo, hi).center();
            assert!((center / lo / (hi / center) - 1.0).abs() < 1e-9, "{center}");
        }
        assert_eq!(Interval::new(-1.0, 3.0).center(), 1.0);
        assert_eq!(Interval::new(0.0, 3.0).center(), 1.5);
    }

    #[test]
    fn a_ratio_takes_the_worst_of_both() {
        let ratio = Interval::new(9.0, 11.0).ratio(Interval::new(4.0, 5.0)).unwrap();
        assert_eq!(ratio, Interval::new(9.0 / 5.0, 11.0 / 4.0));
        assert_eq!(Interval::new(-1.0, 1.0).ratio(ratio), None);
    }

    #[test]
    fn the_smaller_of_two_values_is_no_larger_than_either() {
        let (narrow, wide) = (Interval::new(4.0, 5.0), Interval::new(1.0, 9.0));
        assert_eq!(narrow.least(wide), Interval::new(1.0, 5.0));
        assert_eq!(narrow.most(wide), Interval::new(4.0, 9.0));
    }

    #[test]
    fn sides_of_a_threshold() {
        let interval = Interval::new(1.0, 2.0);
        assert_eq!(interval.side_of(3.0), Side::Below);
        assert_eq!(interval.side_of(1.5), Side::Across);
        assert_eq!(interval.side_of(1.0), Side::Above);
    }

    #[test]
    fn widening_never_narrows() {
        let wide = Interval::new(5.0, 15.0).widened(0.03);
        assert_eq!(wide, Interval::new(5.0, 15.0));
        assert_eq!(Interval::exact(100.0).widened(0.03), Interval::new(97.0, 103.0));
    }

    #[test]
    fn it_prints_its_doubt() {
        extern crate std;
        assert_eq!(std::format!("{}", Interval::new(1.5, 2.5)), "1.94 [1.50, 2.50]");
        assert_eq!(std::format!("{}", Interval::exact(130.0)), "130");
    }
}
