//! The evidence of a claim: an experiment's points, and the machine.

use crate::experiment::{
    Count, Distribution, Machine, Pass, Percentile, Point, Range, State, Testable, Unit,
    Untestable, Value, side_by_side,
};
use crate::order;
use crate::pmu::Quantity;
use crate::prelude::*;
use crate::stats::{Interval, Prior};

/// The least uncertainty of a number that is compared with another case's, as a share of it. The
/// passes show what other physical pages or another minute change, and the interval contains it;
/// two passes show only a part of it.
const BETWEEN_CASES: f64 = 0.01;

/// The points of one experiment on one machine.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The points, in the order in which they were measured.
    pub points: &'a [Point],
    /// The unit in which the points are judged.
    pub unit: Unit,
    /// Working sets that stay in the last level only by chance, if they are known.
    pub uncertain: Option<Range>,
}

/// A curve as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its label.
    pub label: String,
    /// Its points: x, and y as an interval.
    pub points: Vec<(f64, Interval)>,
}

impl<'a> Evidence<'a> {
    /// These points, on a machine whose last level ends at a certain size.
    pub fn new(machine: &'a Machine, points: &'a [Point], unit: Unit) -> Self {
        Evidence {
            machine,
            points,
            unit,
            uncertain: None,
        }
    }
}

impl Evidence<'_> {
    /// Whether the working set `x` lies in `range` on every walk through it. In the last level, sets
    /// that leave it or stay by chance do not.
    pub(crate) fn is_sure(&self, range: Range, x: f64) -> bool {
        let by_chance = self.uncertain.is_some_and(|of| of.holds(x));
        range.holds(x) && !(by_chance && range == self.machine.ranges.llc)
    }

    /// The points of a series, from left to right.
    ///
    /// # Errors
    /// If it has no points; with the points' own reason if they were untestable.
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

    /// The points of a series pass by pass, from left to right. Counted and untestable points are
    /// left out.
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

    /// The value behind `passes`, which are ratios of these points to each other; or the range of all
    /// ratios if it is unknown how passes differ. `None` if there are no ratios.
    pub(crate) fn ratio_of(&self, points: &[(&str, f64)], passes: &[Interval]) -> Option<Interval> {
        let confidence = |&(label, x): &(&str, f64)| {
            let measured = self.point(label, x).ok().and_then(Point::measured);
            measured.and_then(|of| of.confidence)
        };
        let estimate = points.first().and_then(confidence).and_then(|first| {
            let widths = points.iter().filter_map(confidence).map(|of| of.width);
            let widest = widths.fold(0.0, f64::max);
            let prior = Prior {
                variance: first.ratios.variance * widest * widest,
                ..first.ratios
            };
            prior.estimate(passes, first.error)
        });
        let all = || passes.iter().copied().reduce(Interval::hull);
        estimate.map(|of| of.interval).or_else(all)
    }

    /// The passes of a series at `x`; none if it was not timed there.
    pub(crate) fn passes_at(&self, label: &str, x: f64) -> Vec<Pass> {
        let measured = self.point(label, x).ok().and_then(Point::measured);
        let passes = measured.and_then(|of| of.passes(self.unit, self.machine.rate));
        passes.unwrap_or_default()
    }

    /// The value behind the ratios of a point to another that was measured in turn with it, pass by pass,
    /// each by its series and x. `None` if they have no pass in common.
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
        let each: Vec<Interval> = pairs
            .map(|[of, to]| ratio(of, to))
            .collect::<Testable<_>>()?;
        Ok(self.ratio_of(&[of, to], &each))
    }

    /// The value of a series at `x`, with the uncertainty of a comparison between cases.
    ///
    /// # Errors
    /// If it was not measured there.
    pub fn at(&self, label: &str, x: f64) -> Testable<Interval> {
        let point = self.point(label, x)?;
        point
            .interval(self.unit, self.machine.rate)
            .map(|value| widened(point, value))
    }

    /// What this place in the distribution of single runs of a series at `x` comes to, for a run.
    ///
    /// # Errors
    /// If it was not measured there, or not run by run.
    pub(crate) fn percentile(&self, label: &str, x: f64, place: Percentile) -> Testable<Interval> {
        match &self.point(label, x)?.state {
            State::Measured(measured) => measured.percentile(place, self.unit, self.machine.rate),
            State::Untestable(reason) => Err(reason.clone()),
            State::Counted(_) => Err(Untestable("it was counted, not timed".to_owned())),
        }
    }

    /// How this place in the distributions of single runs of a series at `x` compares with their median,
    /// pass by pass: an interval that holds all of their ratios.
    ///
    /// # Errors
    /// As above, and if a median is not positive.
    pub(crate) fn over_median(&self, label: &str, x: f64, place: Percentile) -> Testable<Interval> {
        // The reason why there is none.
        self.percentile(label, x, place)?;
        let measured = self.point(label, x)?.measured();
        let runs = measured.map_or(&[][..], |of| &of.runs);
        let of = |pass: &Distribution| {
            let [value, median] = [place, Percentile::P50].map(|place| pass.at(place) as f64);
            ratio(Interval::exact(value), Interval::exact(median))
        };
        let ratios = runs.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let all = ratios.into_iter().reduce(Interval::hull);
        all.ok_or_else(|| Untestable("no run was timed by itself".to_owned()))
    }

    /// The time of the slowest thread of a series at `x` over that of the fastest, for as many
    /// operations: as uncertain as the time of the point.
    ///
    /// # Errors
    /// If it was not measured there, or on one thread.
    pub(crate) fn spread(&self, label: &str, x: f64) -> Testable<Interval> {
        let point = self.point(label, x)?;
        point.interval(self.unit, self.machine.rate)?;
        let measured = point.measured();
        let threads = measured.and_then(|of| Some((of.ticks.interval, of.crew?)));
        let (ticks, threads) = threads
            .ok_or_else(|| Untestable(format!("no two threads were timed for `{label}` at {x}")))?;
        let spread = ratio(
            Interval::exact(threads.slowest),
            Interval::exact(threads.fastest),
        )?;
        Ok(spread.widened(ticks.doubt() + BETWEEN_CASES))
    }

    /// The time of a series at `x` in round trips of a line between the first two threads, as long as they
    /// were at the time.
    ///
    /// # Errors
    /// If it was not measured there, or no round trip beside it.
    pub(crate) fn round_trips(&self, label: &str, x: f64) -> Testable<Interval> {
        let point = self.point(label, x)?;
        point.interval(self.unit, self.machine.rate)?;
        let measured = point.measured();
        let threads = measured.and_then(|of| Some((of.ticks.interval, of.crew?.round_trip?)));
        let (ticks, trip) = threads.ok_or_else(|| {
            Untestable(format!(
                "no round trip of a line was timed beside `{label}` at {x}"
            ))
        })?;
        let trips = ratio(ticks, Interval::exact(trip))?;
        Ok(trips.widened(BETWEEN_CASES))
    }

    fn point(&self, label: &str, x: f64) -> Testable<&Point> {
        let mut points = self.points.iter();
        points
            .find(|point| point.x == x && point.series == label)
            .ok_or_else(|| Untestable(format!("`{label}` was not measured at {x}")))
    }

    /// The count of `quantity` per operation of a series at `x`, with the uncertainty of a
    /// comparison between cases.
    ///
    /// # Errors
    /// If the point was not measured, or if the quantity was not counted there: the reason why this
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

    /// The reason why a measured point has no count of `quantity`.
    fn uncounted(&self, label: &str, x: f64, quantity: Quantity) -> Untestable {
        match self.machine.counting.event(quantity) {
            Err(reason) => reason,
            Ok(event) => Untestable(format!("{event} was not counted beside `{label}` at {x}")),
        }
    }

    /// The counts of `quantity` along a series, from left to right, without the points where it was not
    /// counted.
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

    /// The level of a series over a range of x: the median of its points there, bound by bound, with
    /// the uncertainty of a comparison between cases.
    ///
    /// # Errors
    /// If no point of the series lies in the range.
    pub fn level(&self, label: &str, range: Range) -> Testable<Interval> {
        let inside: Vec<Interval> = self
            .series(label)?
            .into_iter()
            .filter(|(x, _)| self.is_sure(range, *x))
            .map(|(_, value)| value.widened(BETWEEN_CASES))
            .collect();
        Interval::median_of(&inside).ok_or_else(|| self.nothing_in(label, range))
    }

    /// The value of a series at the memory size. It does not depend on how much of a shared last level
    /// the ladder found.
    ///
    /// # Errors
    /// If the series has no points, or none in memory.
    pub(crate) fn in_memory(&self, label: &str) -> Testable<Interval> {
        self.series(label)?;
        self.at(label, self.machine.memory_size()?)
    }

    /// The reason why a series has no point to judge in a range.
    fn nothing_in(&self, label: &str, range: Range) -> Untestable {
        let mib = |bytes: f64| bytes / 1048576.0;
        Untestable(match self.uncertain {
            Some(of) if range == self.machine.ranges.llc => format!(
                "no point of `{label}` is certain to lie in the last level: between {:.1} and \
                 {:.1} MiB a working set stays in it or leaves it by chance",
                mib(of.lo),
                mib(of.hi)
            ),
            _ => format!("no point of `{label}` lies in the {range}"),
        })
    }

    /// The rightmost point of a series, with the uncertainty of a comparison between cases.
    ///
    /// # Errors
    /// If the series has no points.
    pub fn last(&self, label: &str) -> Testable<(f64, Interval)> {
        let points = self.series(label)?;
        let (x, value) = points[points.len() - 1];
        Ok((x, value.widened(BETWEEN_CASES)))
    }

    /// One curve per series, in the order in which the series were measured.
    pub fn curves(&self) -> Vec<Curve> {
        self.curves_of(|_| true)
    }

    /// The curves of the series whose label is wanted.
    pub(crate) fn curves_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<Curve> {
        self.curves_of_labels(&wanted)
    }

    /// Compiled once, where the other is for every way to choose.
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
                Some(Curve {
                    label: label.to_owned(),
                    points: self.series(label).ok()?,
                })
            })
            .collect()
    }
}

/// A count is exact, a time is not.
fn widened(point: &Point, value: Interval) -> Interval {
    match point.state {
        State::Counted(_) => value,
        _ => value.widened(BETWEEN_CASES),
    }
}

/// The quotient of two values that were measured apart.
///
/// # Errors
/// If either interval is not wholly positive: the difference of two noisy stretches may be negative.
pub(crate) fn ratio(of: impl Value, to: impl Value) -> Testable<Interval> {
    let (of, to) = (of.interval()?, to.interval()?);
    of.quotient(to).ok_or_else(|| {
        Untestable(format!(
            "no ratio of {of} to {to}, because one of them is not positive",
        ))
    })
}

/// The difference of two values, whose doubts add up.
pub(crate) fn minus(of: Interval, less: Interval) -> Interval {
    Interval::new(of.lo - less.hi, of.hi - less.lo)
}

/// The time of one load as a share of another's, which misses. An empty stretch is subtracted from
/// both, so a hit may have a time near zero or below.
///
/// # Errors
/// If the interval of the miss is not wholly positive.
pub(crate) fn share_of_miss(load: Interval, miss: Interval) -> Testable<Interval> {
    if miss.lo <= 0.0 {
        return Err(Untestable(format!(
            "a load of a flushed line took {miss}, which is not certainly above zero",
        )));
    }
    // The end of the miss that makes the share smallest, or largest, depends on its sign.
    let least = load.lo / if load.lo > 0.0 { miss.hi } else { miss.lo };
    let most = load.hi / if load.hi > 0.0 { miss.lo } else { miss.hi };
    Ok(Interval::new(least, most))
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Extreme<P> {
    /// The place.
    pub(crate) at: P,
    /// The value, with the uncertainty of all values together.
    pub(crate) value: Interval,
}

/// The reason why there is no extreme.
pub(crate) fn none() -> Untestable {
    Untestable("no point that the claim needs was measured".to_owned())
}

impl<P> Extreme<P> {
    /// The largest of several values, each with its place.
    ///
    /// # Errors
    /// If there is no value; with the reason of the first that is missing.
    pub(crate) fn most(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| (value.hi > seen.hi, seen.most(value)))
    }

    /// The smallest of several values, each with its place.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn least(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| {
            (value.lo < seen.lo, seen.least(value))
        })
    }

    /// The extreme by `further`: whether a value lies further out than those before, and the extreme of all.
    fn of(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
        further: fn(Interval, Interval) -> (bool, Interval),
    ) -> Testable<Self> {
        let mut values = values.into_iter();
        let (mut at, mut all) = values.next().ok_or_else(none)??;
        for value in values {
            let (place, value) = value?;
            let (is_further, both) = further(all, value);
            all = both;
            if is_further {
                at = place;
            }
        }
        Ok(Extreme { at, value: all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_value_and_the_doubt_that_of_all() {
        let values = [(1, 2.0, 3.0), (2, 1.0, 5.0), (3, 2.5, 2.6)];
        let values = || values.map(|(at, lo, hi)| Ok((at, Interval::new(lo, hi))));
        let (most, least) = (Extreme::most(values()), Extreme::least(values()));
        let (most, least) = (most.unwrap(), least.unwrap());
        assert_eq!((most.at, most.value), (2, Interval::new(2.5, 5.0)));
        assert_eq!((least.at, least.value), (2, Interval::new(1.0, 2.6)));
    }
}
