//! The evidence of a claim: an experiment's points, and the machine.

use super::reading::{BETWEEN_CASES, Reading, ratio};
use crate::experiment::{
    Count, Machine, Measured, Pass, Point, Range, State, Testable, Unit, Untestable, side_by_side,
};
use crate::order;
use crate::pmu::Quantity;
use crate::prelude::*;
use crate::stats::{Interval, Prior};

/// The points of one experiment on one machine.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The points, in the order in which they were measured.
    pub points: &'a [Point],
    /// The unit in which the points are judged.
    pub unit: Unit,
    /// Working sets that stay in the last level only by chance, if known.
    pub uncertain: Option<Range>,
}

/// A curve as drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The label.
    pub label: String,
    /// The points: x, and y as an interval.
    pub points: Vec<(f64, Interval)>,
}

impl<'a> Evidence<'a> {
    /// Returns the evidence of `points`, without uncertain working sets.
    pub fn new(machine: &'a Machine, points: &'a [Point], unit: Unit) -> Self {
        Evidence { machine, points, unit, uncertain: None }
    }
}

impl Evidence<'_> {
    /// Whether the working set `x` lies in `range` on every walk through it. Working sets that stay in
    /// the last level only by chance are not sure to lie in its range.
    pub(crate) fn is_sure(&self, range: Range, x: f64) -> bool {
        let by_chance = self.uncertain.is_some_and(|of| of.holds(x));
        range.holds(x) && !(by_chance && range == self.machine.ranges.llc)
    }

    /// Checks that a working set stays in the last level on every walk through it, or on none.
    ///
    /// # Errors
    /// If it stays there or leaves by chance.
    pub(crate) fn no_chance(&self, bytes: f64) -> Testable<()> {
        let Some(of) = self.uncertain.filter(|of| of.holds(bytes)) else { return Ok(()) };
        Err(Untestable(format!(
            "{:.1} MiB are not certain to lie in the last level: {}",
            bytes / 1048576.0,
            by_chance(of)
        )))
    }

    /// Returns the points of a series, in ascending x.
    ///
    /// # Errors
    /// If the series has no points. The reason is the points' own reason if they were untestable.
    pub fn series(&self, label: &str) -> Testable<Vec<(f64, Interval)>> {
        let mut reason = None;
        let mut points = Vec::new();
        for point in self.points.iter().filter(|point| point.series == label) {
            match point.interval(self.unit, self.machine.rate) {
                Ok(value) => points.push((point.x, value)),
                Err(untestable) => reason = Some(untestable),
            }
        }
        if points.is_empty() {
            return Err(
                reason.unwrap_or_else(|| Untestable(format!("no point of `{label}` was measured")))
            );
        }
        order::by(&mut points, |a, b| a.0.total_cmp(&b.0));
        Ok(points)
    }

    /// Returns the points of a series with each pass, in ascending x. Leaves out counted and untestable
    /// points.
    pub(crate) fn pass_by_pass(&self, label: &str) -> Vec<(f64, Vec<Pass>)> {
        let of_series = self.points.iter().filter(|point| point.series == label);
        let mut points: Vec<(f64, Vec<Pass>)> = of_series
            .filter_map(|point| match &point.state {
                State::Measured(measured) => {
                    let passes = measured.passes(self.unit, self.machine.rate)?;
                    Some((point.x, passes))
                }
                _ => None,
            })
            .collect();
        order::by(&mut points, |a, b| a.0.total_cmp(&b.0));
        points
    }

    /// Returns the points of a series in ascending x, each as its quickest pass found it. A neighbour that takes
    /// part of a buffer or of a cache makes a pass slower, never faster. Of a pass beside a busy neighbour only
    /// the upper bound is sure, so another pass may raise the lower one.
    ///
    /// # Errors
    /// As [`series`](Self::series).
    pub(crate) fn quickest(&self, label: &str) -> Testable<Vec<(f64, Interval)>> {
        self.series(label)?;
        let quickest = |(x, passes): (f64, Vec<Pass>)| {
            let passes = passes.iter().map(|pass| pass.interval);
            let hi = passes.clone().map(|of| of.hi).min_by(f64::total_cmp)?;
            let below = passes.map(|of| of.lo).filter(|lo| *lo <= hi);
            Some((x, Interval::new(below.max_by(f64::total_cmp)?, hi)))
        };
        let points = self.pass_by_pass(label).into_iter();
        Ok(points.filter_map(quickest).collect())
    }

    /// Estimates the value behind `passes`, which are ratios of these points to each other. Returns the
    /// range of all ratios if it is unknown how passes differ, and `None` if there are no ratios.
    pub(crate) fn ratio_of(&self, points: &[(&str, f64)], passes: &[Interval]) -> Option<Interval> {
        let confidence = |&(label, x): &(&str, f64)| {
            let measured = self.point(label, x).ok().and_then(Point::measured);
            measured.and_then(|of| of.confidence)
        };
        let estimate = points.first().and_then(confidence).and_then(|first| {
            let widths = points.iter().filter_map(confidence).map(|of| of.width);
            let widest = widths.fold(0.0, f64::max);
            let prior = Prior {
                variance: first.priors.ratios.variance * widest * widest,
                ..first.priors.ratios
            };
            prior.estimate(passes, first.error)
        });
        let all = || Interval::hull_of(passes);
        estimate.map(|of| of.interval).or_else(all)
    }

    /// Returns the passes of a series at `x`. Empty if the series was not timed there.
    pub(crate) fn passes_at(&self, label: &str, x: f64) -> Vec<Pass> {
        let measured = self.point(label, x).ok().and_then(Point::measured);
        let passes = measured.and_then(|of| of.passes(self.unit, self.machine.rate));
        passes.unwrap_or_default()
    }

    /// Estimates the ratio of a point to another point measured interleaved with it, pass by pass. Each
    /// point is given by its series and x. Returns `None` if they have no pass in common.
    ///
    /// # Errors
    /// If a pass has no ratio.
    pub(crate) fn ratio_of_passes(
        &self,
        of: (&str, f64),
        to: (&str, f64),
    ) -> Testable<Option<Interval>> {
        let passes = [of, to].map(|(label, x)| self.passes_at(label, x));
        let pairs = side_by_side(passes.each_ref().map(Vec::as_slice)).into_iter();
        let each: Vec<Interval> = pairs.map(|[of, to]| ratio(of, to)).collect::<Testable<_>>()?;
        Ok(self.ratio_of(&[of, to], &each))
    }

    /// Returns the value of a series at `x`, with the uncertainty of a comparison between cases.
    ///
    /// # Errors
    /// If the series was not measured there.
    pub fn at(&self, label: &str, x: f64) -> Testable<Reading> {
        self.reading(self.point(label, x)?)
    }

    fn reading(&self, point: &Point) -> Testable<Reading> {
        let value = point.interval(self.unit, self.machine.rate)?;
        Ok(Reading::of(point, value, self.unit, self.machine.rate))
    }

    /// Returns the time of the slowest thread of a series at `x` over the time of the fastest in the same
    /// pass, for the same number of operations. Of a single pass it is as uncertain as the time.
    ///
    /// # Errors
    /// If the series was not measured there, or on one thread.
    pub(crate) fn spread(&self, label: &str, x: f64) -> Testable<Interval> {
        let point = self.point(label, x)?;
        point.interval(self.unit, self.machine.rate)?;
        // Threads are timed in every round of a pass, disturbed or not.
        let passes = self.passes_at(label, x).into_iter();
        let apart = passes.filter(|pass| pass.quality.refusal().is_none());
        let each = apart.filter_map(|pass| pass.spread.map(Interval::exact));
        let each: Vec<Interval> = each.collect();
        let all = Interval::hull_of(&each);
        let (measured, all) = point
            .measured()
            .zip(all)
            .ok_or_else(|| Untestable(format!("no two threads were timed for `{label}` at {x}")))?;
        // How the times of passes differ says nothing about these ratios: both threads share the causes.
        let (spread, doubt) = match (measured.confidence, each.len()) {
            (None, 1) => (all, measured.ticks.interval.doubt()),
            _ => (behind(measured, &each).unwrap_or(all), 0.0),
        };
        Ok(spread.widened(doubt + BETWEEN_CASES))
    }

    /// Returns the time of a series at `x` in round trips of a line between the first two threads, as
    /// measured at the same time.
    ///
    /// # Errors
    /// If the series was not measured there, or without a round trip.
    pub(crate) fn round_trips(&self, label: &str, x: f64) -> Testable<Interval> {
        let point = self.point(label, x)?;
        point.interval(self.unit, self.machine.rate)?;
        let measured = point.measured();
        let threads =
            measured.and_then(|of| Some((of.ticks.interval, of.thread_stats?.round_trip?)));
        let (ticks, trip) = threads.ok_or_else(|| {
            Untestable(format!("no round trip of a line was timed beside `{label}` at {x}"))
        })?;
        let trips = ratio(ticks, Interval::exact(trip))?;
        Ok(trips.widened(BETWEEN_CASES))
    }

    pub(in crate::experiment) fn point(&self, label: &str, x: f64) -> Testable<&Point> {
        let mut points = self.points.iter();
        points
            .find(|point| point.x == x && point.series == label)
            .ok_or_else(|| Untestable(format!("`{label}` was not measured at {x}")))
    }

    /// Returns the count of `quantity` per operation of a series at `x`, with the uncertainty of a
    /// comparison between cases.
    ///
    /// # Errors
    /// If the point was not measured, or if the quantity was not counted there, with the reason why this
    /// machine does not count it.
    pub fn count(&self, label: &str, x: f64, quantity: Quantity) -> Testable<Interval> {
        let point = self.point(label, x)?;
        if let State::Untestable(reason) = &point.state {
            return Err(reason.clone());
        }
        let count = point.counts().iter().find(|of| of.quantity == quantity);
        let Count { value, .. } = match count {
            Some(count) => count,
            None => return Err(self.uncounted(label, x, quantity)),
        };
        Ok(value.widened(BETWEEN_CASES))
    }

    /// Returns the reason why a measured point has no count of `quantity`.
    fn uncounted(&self, label: &str, x: f64, quantity: Quantity) -> Untestable {
        match self.machine.counting.event(quantity) {
            Err(reason) => reason,
            Ok(event) => Untestable(format!("{event} was not counted beside `{label}` at {x}")),
        }
    }

    /// Returns the counts of `quantity` along a series, in ascending x. Leaves out points where it was
    /// not counted.
    pub fn counts(&self, label: &str, quantity: Quantity) -> Vec<(f64, Interval)> {
        let of_series = self.points.iter().filter(|point| point.series == label);
        let mut points: Vec<(f64, Interval)> = of_series
            .filter_map(|point| {
                let mut counts = point.counts().iter();
                let count = counts.find(|count| count.quantity == quantity)?;
                Some((point.x, count.value))
            })
            .collect();
        order::by(&mut points, |a, b| a.0.total_cmp(&b.0));
        points
    }

    /// Returns the level of a series over a range of x, with the uncertainty of a comparison between
    /// cases. The bounds of the level are the medians of the bounds of the points there.
    ///
    /// # Errors
    /// If no point of the series lies in the range.
    pub fn level(&self, label: &str, range: Range) -> Testable<Reading> {
        // For the reason if the series has no point.
        self.series(label)?;
        let of_series = self.points.iter().filter(|point| point.series == label);
        let inside = of_series.filter(|point| self.is_sure(range, point.x));
        let inside: Vec<Reading> = inside.filter_map(|point| self.reading(point).ok()).collect();
        Reading::level(&inside).ok_or_else(|| self.nothing_in(label, range))
    }

    /// Returns the evidence with its points in nanoseconds. While a core waits for memory, its clock may be slower:
    /// a ratio of core cycles in memory and in a cache is then no ratio of times.
    pub(crate) fn in_time(&self) -> Self {
        Evidence { unit: Unit::Nanoseconds, ..*self }
    }

    /// Returns the value of a series at the memory size, which does not depend on how much of a shared
    /// last level the ladder found.
    ///
    /// # Errors
    /// If the series has no points, or none in memory.
    pub(crate) fn in_memory(&self, label: &str) -> Testable<Reading> {
        self.series(label)?;
        self.at(label, self.machine.memory_size()?)
    }

    /// Returns the reason why a series has no point to judge in a range.
    fn nothing_in(&self, label: &str, range: Range) -> Untestable {
        let mut points = self.points.iter();
        let without_value = points.find_map(|point| {
            let there = point.series == label && range.holds(point.x);
            let value = there.then(|| point.interval(self.unit, self.machine.rate));
            value?.err()
        });
        if let Some(reason) = without_value {
            return reason;
        }
        Untestable(match self.uncertain {
            Some(of) if range == self.machine.ranges.llc => format!(
                "no point of `{label}` is certain to lie in the last level: {}",
                by_chance(of)
            ),
            _ => format!("no point of `{label}` lies in the {range}"),
        })
    }

    /// Returns the point of a series with the largest x, with the uncertainty of a comparison between
    /// cases.
    ///
    /// # Errors
    /// If the series has no points.
    pub fn last(&self, label: &str) -> Testable<(f64, Reading)> {
        let points = self.series(label)?;
        let (x, _) = points[points.len() - 1];
        Ok((x, self.at(label, x)?))
    }

    /// Returns one curve per series, in the order in which the series were measured.
    pub fn curves(&self) -> Vec<Curve> {
        self.curves_of(|_| true)
    }

    /// Returns the curves of the series for whose label `wanted` returns true.
    pub(crate) fn curves_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<Curve> {
        self.curves_of_labels(&wanted)
    }

    /// Takes a trait object, so that it is compiled once instead of once per closure.
    fn curves_of_labels(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Curve> {
        let mut labels: Vec<&str> = Vec::new();
        for point in self.points {
            if wanted(&point.series) && !labels.contains(&point.series.as_str()) {
                labels.push(&point.series);
            }
        }
        labels
            .into_iter()
            .filter_map(|label| {
                Some(Curve { label: label.to_owned(), points: self.series(label).ok()? })
            })
            .collect()
    }
}

/// Estimates the value behind values of the passes over a point that are not its times. How the times differ says
/// nothing about them. Without an estimate, returns the range of all; `None` if there are no values.
pub(in crate::experiment) fn behind(measured: &Measured, passes: &[Interval]) -> Option<Interval> {
    let error = measured.confidence.map(|of| of.error);
    let estimate = error.and_then(|error| Prior::KEPT.estimate(passes, error));
    let all = || Interval::hull_of(passes);
    estimate.map(|of| of.interval).or_else(all)
}

/// Says which working sets stay in the last level only by chance.
pub(crate) fn by_chance(uncertain: Range) -> String {
    let [least, most] = [uncertain.lo, uncertain.hi].map(|bytes| bytes / 1048576.0);
    format!("between {least:.1} and {most:.1} MiB a working set stays in it or leaves it by chance")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Quality;
    use crate::experiment::machine::tests::unknown;
    use crate::experiment::quality::passes::tests::pass;
    use crate::kernel::Work;

    #[test]
    fn a_time_that_may_be_zero_is_the_reason_for_a_missing_rate() {
        let point = |x, times: [f64; 2]| {
            let mut point = pass(100.0, Quality::Clean);
            point.x = x;
            if let State::Measured(measured) = &mut point.state {
                measured.ticks.interval = Interval::new(times[0], times[1]);
                measured.work = Work::default().load(8, 64);
            }
            point
        };
        let machine = unknown();
        let points = [point(1.0, [-112.0, 313.0]), point(8.0, [90.0, 110.0])];
        let rates = Evidence::new(&machine, &points, Unit::GigabytesPerSecond);
        let level = |lo, hi| rates.level("a", Range { lo, hi });
        assert!(level(4.0, 16.0).is_ok());
        let reason = level(0.5, 2.0).unwrap_err().0;
        let expected = "the time of a at 1 varies too much: -112 to 313 ticks per operation";
        assert!(reason.starts_with(expected), "{reason}");
        let nothing = level(16.0, 32.0).unwrap_err().0;
        assert!(nothing.starts_with("no point of `a` lies in"), "{nothing}");
    }
}
