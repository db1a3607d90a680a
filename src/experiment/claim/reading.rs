//! A value of a series with the passes behind it.

use crate::experiment::{Measured, Pass, Point, Quality, State, Testable, Unit, Untestable};
use crate::prelude::*;
use crate::stats::{Interval, Prior, median_of};
use crate::time::Rate;
use core::ops::Deref;

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

/// The smallest uncertainty of a number that is compared with another case's number, as a fraction of
/// the number. The interval contains what other physical pages or another minute changed between passes,
/// but two passes show only a part of such changes.
pub(super) const BETWEEN_CASES: f64 = 0.01;

/// The value of a point, or the level of several points, with the passes behind it. Dereferences to the
/// interval of the value.
///
/// A pass measures the points of an experiment within seconds: they meet the same clock, neighbours and distance between
/// cores. What slows down two points alike leaves their ratio as it is. The interval of a ratio, a sum or a
/// difference is therefore estimated from the passes that both have, and not from the intervals of two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The interval, with the uncertainty of a comparison between cases.
    value: Interval,
    /// The passes, if the value was timed.
    passes: Option<Passes>,
}

/// The undisturbed passes of a value.
#[derive(Clone, Debug, PartialEq)]
struct Passes {
    /// The number of each pass, and its interval.
    each: Vec<(u32, Interval)>,
    /// How the passes over such values differ.
    prior: Prior,
    /// The share of intervals that may miss their value.
    error: f64,
    /// The smallest uncertainty of the value, as a fraction of it.
    least: f64,
}

impl Deref for Reading {
    type Target = Interval;

    fn deref(&self) -> &Interval {
        &self.value
    }
}

impl core::fmt::Display for Reading {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.value.fmt(f)
    }
}

impl From<&Reading> for Reading {
    fn from(reading: &Reading) -> Self {
        reading.clone()
    }
}

impl From<Interval> for Reading {
    fn from(value: Interval) -> Self {
        Reading { value, passes: None }
    }
}

impl From<Reading> for Interval {
    fn from(reading: Reading) -> Self {
        reading.value
    }
}

/// The value by which a claim is judged: a reading, an interval, or the reason why there is none.
pub trait Value: Sized {
    /// Returns the value with the passes behind it, where they are known.
    ///
    /// # Errors
    /// The reason why there is none.
    fn reading(self) -> Testable<Reading>;

    /// Returns the interval.
    ///
    /// # Errors
    /// The reason why there is none.
    fn interval(self) -> Testable<Interval> {
        self.reading().map(|of| *of)
    }
}

impl<V: Into<Reading>> Value for V {
    fn reading(self) -> Testable<Reading> {
        Ok(self.into())
    }
}

impl<V: Into<Reading>> Value for Testable<V> {
    fn reading(self) -> Testable<Reading> {
        self.map(V::into)
    }
}

impl Reading {
    /// Returns the reading of a point with this value.
    pub(super) fn of(point: &Point, value: Interval, unit: Unit, rate: Rate) -> Self {
        match &point.state {
            State::Measured(measured) => Reading {
                value: value.widened(BETWEEN_CASES),
                passes: Passes::of(measured, unit, rate),
            },
            // A count is exact.
            _ => value.into(),
        }
    }

    /// Returns the level of several readings: the medians of the bounds, and in each pass the median of its
    /// intervals. Returns `None` without readings.
    pub(crate) fn level(readings: &[Self]) -> Option<Self> {
        let values: Vec<Interval> = readings.iter().map(|of| of.value).collect();
        let passes: Option<Vec<&Passes>> = readings.iter().map(|of| of.passes.as_ref()).collect();
        Some(Reading {
            value: Interval::median_of(&values)?,
            passes: passes.and_then(|of| Passes::level(&of)),
        })
    }

    /// Returns the reading in another unit.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let in_unit = |of: Passes| Passes {
            each: of.each.into_iter().map(|(number, pass)| (number, pass.scaled(factor))).collect(),
            ..of
        };
        Reading { value: self.value.scaled(factor), passes: self.passes.map(in_unit) }
    }

    /// Returns the sum of this reading and `factor` times another, where `factor` is 1 or -1.
    pub(super) fn with(&self, other: &Self, factor: f64) -> Self {
        let passes = self.passes.as_ref().zip(other.passes.as_ref());
        let passes = passes.and_then(|(of, other)| of.with(other, factor));
        // Without passes in common, the uncertainties add up.
        let value = passes.as_ref().and_then(Passes::estimate);
        Reading { value: value.unwrap_or_else(|| sum(self.value, other.value, factor)), passes }
    }

    /// Returns the quotient of two readings.
    ///
    /// # Errors
    /// If neither the intervals nor the passes have one, because they are not wholly positive.
    pub(super) fn over(&self, to: &Self) -> Testable<Interval> {
        let passes = self.passes.as_ref().zip(to.passes.as_ref());
        let value = passes.and_then(|(of, to)| of.over(to)?.estimate());
        let value = value.or_else(|| self.value.quotient(to.value));
        value.ok_or_else(|| {
            let (of, to) = (self.value, to.value);
            Untestable(
                format!("no ratio: {of} over {to}, which are not both certainly above zero",),
            )
        })
    }
}

impl Passes {
    fn of(measured: &Measured, unit: Unit, rate: Rate) -> Option<Self> {
        let confidence = measured.confidence?;
        let passes = measured.passes(unit, rate)?.into_iter();
        let clean = passes.filter(|pass| pass.quality == Quality::Clean);
        let prior = confidence.priors.of(unit);
        Some(Passes {
            each: clean.map(|Pass { number, interval, .. }| (number, interval)).collect(),
            prior: Prior {
                variance: prior.variance * confidence.width * confidence.width,
                ..prior
            },
            error: confidence.error,
            least: BETWEEN_CASES,
        })
    }

    fn in_pass(&self, number: u32) -> Option<Interval> {
        let mut each = self.each.iter();
        Some(each.find(|(of, _)| *of == number)?.1)
    }

    /// Returns the passes that all have, with the prior of the middle one.
    fn level(all: &[&Self]) -> Option<Self> {
        let level = |&(number, _): &(u32, Interval)| {
            let there: Option<Vec<Interval>> = all.iter().map(|of| of.in_pass(number)).collect();
            Some((number, Interval::median_of(&there?)?))
        };
        let mut priors: Vec<Prior> = all.iter().map(|of| of.prior).collect();
        priors.sort_by(|a, b| a.variance.total_cmp(&b.variance));
        Some(Passes {
            each: all.first()?.each.iter().filter_map(level).collect(),
            prior: priors[priors.len() / 2],
            error: all.iter().map(|of| of.error).fold(1.0, f64::min),
            least: BETWEEN_CASES,
        })
    }

    /// Applies `of` to the passes that both have. Returns `None` if less than half of the passes of one are also
    /// passes of the other, or if `of` returns `None` for a pass.
    fn together(
        &self,
        other: &Self,
        [variance, least]: [f64; 2],
        of: impl Fn(Interval, Interval) -> Option<Interval>,
    ) -> Option<Self> {
        let pass = |&(number, pass): &(u32, Interval)| Some((number, pass, other.in_pass(number)?));
        let both = self.each.iter().filter_map(pass);
        let each = both.map(|(number, pass, other)| Some((number, of(pass, other)?)));
        let each: Vec<(u32, Interval)> = each.collect::<Option<_>>()?;
        let most = 2 * each.len() >= self.each.len().max(other.each.len());
        most.then_some(Passes {
            each,
            prior: Prior { dof: self.prior.dof.min(other.prior.dof), variance },
            error: self.error.min(other.error),
            least,
        })
    }

    /// Returns the quotients of the passes.
    fn over(&self, to: &Self) -> Option<Self> {
        // Without a common cause the variances add up. With one, the passes themselves show less.
        let variance = self.prior.variance + to.prior.variance;
        let least = self.least.hypot(to.least);
        self.together(to, [variance, least], Interval::ratio)
    }

    /// Returns the sums of the passes and `factor` times the other's. Returns `None` if they are not positive,
    /// because the prior is one of ratios.
    fn with(&self, other: &Self, factor: f64) -> Option<Self> {
        let [of, more] = [self, other].map(Passes::middle);
        let (of, more) = (of?, factor * more?);
        let [of, more] = [of, more].map(|part| part / (of + more));
        let variance = of * of * self.prior.variance + more * more * other.prior.variance;
        let least = (of * self.least).hypot(more * other.least);
        let positive = |of: Interval| (of.lo > 0.0).then_some(of);
        let pass = |of, more| positive(sum(of, more, factor));
        self.together(other, [variance, least], pass)
    }

    /// Returns the median of the passes.
    fn middle(&self) -> Option<f64> {
        median_of(self.each.iter().map(|(_, pass)| pass.middle()))
    }

    /// Estimates the value behind the passes.
    fn estimate(&self) -> Option<Interval> {
        let each: Vec<Interval> = self.each.iter().map(|(_, pass)| *pass).collect();
        let estimate = self.prior.estimate(&each, self.error)?;
        Some(estimate.interval.widened(self.least))
    }
}

/// Returns the quotient of two values: from the passes that both have, if they have most passes in common.
///
/// # Errors
/// If either interval is not wholly positive: the difference of two noisy stretches may be negative.
pub(crate) fn ratio(of: impl Value, to: impl Value) -> Testable<Interval> {
    of.reading()?.over(&to.reading()?)
}

/// Returns the difference of two values.
pub(crate) fn minus(of: impl Into<Reading>, less: impl Into<Reading>) -> Reading {
    let (of, less) = (of.into(), less.into());
    of.with(&less, -1.0)
}

/// Returns the sum of two values.
pub(crate) fn plus(of: impl Into<Reading>, more: impl Into<Reading>) -> Reading {
    let (of, more) = (of.into(), more.into());
    of.with(&more, 1.0)
}

/// Returns the quotient of a value that may be near zero or negative, such as the time of a hit less that
/// of an empty stretch, and of one that is not.
///
/// # Errors
/// If the interval of the second is not wholly positive.
pub(crate) fn signed_ratio(of: impl Into<Reading>, to: impl Into<Reading>) -> Testable<Interval> {
    let (of, to) = (of.into(), to.into());
    if to.lo <= 0.0 {
        return Err(Untestable(format!(
            "no ratio: {} over {}, which is not certainly above zero",
            *of, *to
        )));
    }
    if let Ok(ratio) = of.over(&to) {
        return Ok(ratio);
    }
    // Which bound of the second makes the quotient smallest or largest depends on the sign of the first.
    let least = of.lo / if of.lo > 0.0 { to.hi } else { to.lo };
    let most = of.hi / if of.hi > 0.0 { to.lo } else { to.hi };
    Ok(Interval::new(least, most))
}

/// Returns the sum of one interval and `factor` times another, where `factor` is 1 or -1.
fn sum(of: Interval, more: Interval, factor: f64) -> Interval {
    let more = more.scaled(factor);
    Interval::new(of.lo + more.lo, of.hi + more.hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Rng;

    fn passes(times: &[(u32, f64)]) -> Reading {
        let each: Vec<(u32, Interval)> = times
            .iter()
            .map(|&(number, time)| (number, Interval::exact(time).widened(0.002)))
            .collect();
        let all = each.iter().map(|(_, pass)| *pass).reduce(Interval::hull);
        Reading {
            value: all.unwrap(),
            passes: Some(Passes {
                each,
                prior: Prior { dof: 3.0, variance: 1e-4 },
                error: 0.1,
                least: BETWEEN_CASES,
            }),
        }
    }

    fn numbered(times: &[f64]) -> Reading {
        let times: Vec<(u32, f64)> = (0..).zip(times.iter().copied()).collect();
        passes(&times)
    }

    /// A host that moves a CPU to another cache slows all transfers of lines of a pass.
    #[test]
    fn what_slows_down_both_cancels() {
        let of = numbered(&[10.0, 10.2, 26.0, 9.9, 27.0, 10.1]);
        let to = numbered(&[20.0, 20.2, 52.5, 19.9, 53.6, 20.1]);
        let ratio = of.over(&to).unwrap();
        assert!(ratio.lo > 0.48 && ratio.hi < 0.52, "{ratio}");
        let apart = of.value.quotient(to.value).unwrap();
        assert!(apart.lo < 0.3 && apart.hi > 0.8, "{apart}");
    }

    #[test]
    fn what_differs_by_chance_stays_in_doubt() {
        let of = numbered(&[10.0, 11.0, 9.0, 10.5]);
        let to = numbered(&[10.5, 9.0, 11.0, 10.0]);
        let ratio = of.over(&to).unwrap();
        assert!(ratio.lo < 0.9 && ratio.hi > 1.1, "{ratio}");
    }

    #[test]
    fn passes_of_one_alone_are_compared_by_their_intervals() {
        let of = passes(&[(0, 10.0), (1, 11.0), (2, 10.0), (3, 11.0)]);
        let to = passes(&[(0, 10.0), (4, 11.0), (5, 10.0)]);
        let apart = of.value.quotient(to.value);
        assert_eq!(of.over(&to).ok(), apart);
        let known = Reading::from(Interval::exact(2.0));
        assert_eq!(of.over(&known).ok(), of.value.quotient(known.value));
    }

    #[test]
    fn a_value_that_may_be_zero_has_no_ratio() {
        let of = passes(&[(0, 10.0), (1, -1.0)]);
        let reason = of.over(&numbered(&[1.0, 1.0])).unwrap_err().0;
        assert!(reason.starts_with("no ratio: "), "{reason}");
    }

    #[test]
    fn the_level_of_a_pass_is_the_median_of_its_points() {
        let level = Reading::level(&[
            passes(&[(0, 10.0), (1, 20.0)]),
            passes(&[(0, 11.0), (1, 22.0), (2, 11.0)]),
            passes(&[(0, 12.0), (1, 24.0)]),
        ]);
        let level = level.unwrap();
        let each = level.passes.clone().unwrap().each;
        assert_eq!(each.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
        assert!(each[0].1.lo < 11.0 && each[0].1.hi > 11.0);
        let ratio = level.over(&numbered(&[5.5, 11.0])).unwrap();
        assert!((ratio.middle() - 2.0).abs() < 0.05 && ratio.doubt() < 0.05, "{ratio}");
        assert_eq!(Reading::level(&[]), None);
    }

    /// A number with approximately normal distribution.
    fn normal(rng: &mut Rng) -> f64 {
        const STEPS: usize = 1 << 20;
        let uniform = |_| rng.below(STEPS) as f64 / STEPS as f64;
        (0..12).map(uniform).sum::<f64>() - 6.0
    }

    /// Returns the share of planted ratios that their interval contains, and the mean width of the intervals over
    /// that of the quotients of two intervals. A deviation of `shared` is common to both values of a pass.
    fn planted(passes: usize, shared: f64, rng: &mut Rng) -> (f64, f64) {
        const PAIRS: usize = 4000;
        let (mut held, mut widths) = (0, 0.0);
        for _ in 0..PAIRS {
            let deviations = [(); 2].map(|()| {
                let squares: f64 = (0..4).map(|_| normal(rng).powi(2)).sum();
                0.02 * (4.0 / squares).sqrt()
            });
            let both: Vec<[f64; 2]> = (0..passes)
                .map(|_| {
                    let together = shared * normal(rng);
                    deviations.map(|of| (together + of * normal(rng)).exp())
                })
                .collect();
            let readings = [0, 1].map(|of| {
                let each: Vec<(u32, Interval)> = (0..)
                    .zip(&both)
                    .map(|(number, pass)| (number, Interval::exact(pass[of])))
                    .collect();
                // The prior of a run is that of all that differs between its passes.
                let variance = 0.02 * 0.02 + shared * shared;
                let passes =
                    Passes { each, prior: Prior { dof: 4.0, variance }, error: 0.05, least: 0.0 };
                Reading { value: passes.estimate().unwrap(), passes: Some(passes) }
            });
            let [of, to] = &readings;
            let ratio = of.over(to).unwrap();
            held += usize::from(ratio.lo <= 1.0 && ratio.hi >= 1.0);
            widths += ratio.doubt() / of.value.quotient(to.value).unwrap().doubt();
        }
        (held as f64 / PAIRS as f64, widths / PAIRS as f64)
    }

    #[test]
    fn intervals_of_ratios_hold_the_value_and_are_narrow_where_passes_share_a_cause() {
        let mut rng = Rng::new(1);
        for passes in [2, 3, 5, 10] {
            let (alone, width) = planted(passes, 0.0, &mut rng);
            assert!((0.93..=0.98).contains(&alone), "{passes} passes: {alone}");
            assert!((0.9..=1.1).contains(&width), "{passes} passes: {width}");
            let (shared, narrow) = planted(passes, 0.04, &mut rng);
            assert!(shared >= 0.93, "{passes} passes: {shared}");
            assert!(narrow < width, "{passes} passes: {narrow}");
        }
    }
}
