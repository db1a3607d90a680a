//! The distributions of single runs, as claims read them.

use super::evidence::behind;
use super::reading::ratio;
use crate::experiment::point::distribution::{not_run_by_run, step};
use crate::experiment::{
    Distribution, Evidence, Measured, Percentile, State, Testable, Untestable,
};
use crate::prelude::*;
use crate::stats::Interval;

impl Evidence<'_> {
    /// Returns this percentile of the distribution of single runs of a series at `x`, per run.
    ///
    /// # Errors
    /// If the series was not measured there, or not run by run.
    pub(crate) fn percentile(&self, label: &str, x: f64, place: Percentile) -> Testable<Interval> {
        let runs = self.runs(label, x)?;
        runs.percentile(place, self.unit, self.machine.rate)
    }

    /// Returns the value of this percentile behind the passes, widened by a step of the time-stamp counter. Claims
    /// are judged on this interval.
    ///
    /// # Errors
    /// As [`percentile`](Self::percentile).
    pub(crate) fn percentile_within_step(
        &self,
        label: &str,
        x: f64,
        place: Percentile,
    ) -> Testable<Interval> {
        let runs = self.runs(label, x)?;
        let behind = |passes: &[Interval]| behind(runs, passes);
        runs.percentile_within_step(place, self.unit, self.machine.rate, behind)
    }

    /// Returns the step of the time-stamp counter and the shortest median of a pass, in ticks, of the single runs of
    /// a series at `x`.
    ///
    /// # Errors
    /// If the series was not measured there, or not run by run.
    pub(crate) fn step_of_runs(&self, label: &str, x: f64) -> Testable<(u64, u64)> {
        let runs = &self.runs(label, x)?.runs;
        let medians = runs.iter().map(|pass| pass.at(Percentile::P50));
        let median = medians.min().ok_or_else(not_run_by_run)?;
        Ok((step(runs), median))
    }

    fn runs(&self, label: &str, x: f64) -> Testable<&Measured> {
        match &self.point(label, x)?.state {
            State::Measured(measured) => Ok(measured),
            State::Untestable(reason) => Err(reason.clone()),
            State::Counted(_) => Err(Untestable("it was counted, not timed".to_owned())),
        }
    }

    /// Returns the ratio of this percentile to the median, in the distributions of single runs of a
    /// series at `x`: the value behind the ratios of the passes.
    ///
    /// # Errors
    /// If the series was not measured there, or not run by run, or if a median is not positive.
    pub(crate) fn over_median(&self, label: &str, x: f64, place: Percentile) -> Testable<Interval> {
        // For the reason if there is no percentile.
        self.percentile(label, x, place)?;
        let measured = self.runs(label, x)?;
        let of = |pass: &Distribution| {
            let [value, median] = [place, Percentile::P50].map(|place| pass.at(place) as f64);
            ratio(Interval::exact(value), Interval::exact(median))
        };
        let ratios = measured.runs.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let over = behind(measured, &ratios).ok_or_else(not_run_by_run)?;
        // No percentile lies below the median.
        Ok(over.most(Interval::exact(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;
    use crate::experiment::quality::passes::tests::pass;
    use crate::experiment::{Confidence, Point, Priors, Quality, Unit};

    /// Returns a point whose passes have two runs: one of 1000 ticks and one of these.
    fn of_single_runs(longest: impl Iterator<Item = u64>) -> Point {
        let mut point = pass(100.0, Quality::Clean);
        let measured = point.measured_mut().unwrap();
        let run = |ticks| Distribution::of(&mut [1000, ticks], 1).unwrap();
        measured.runs = longest.map(run).collect();
        measured.confidence = Some(Confidence {
            cycles: None,
            states: None,
            priors: Priors::KEPT,
            error: 0.1,
            width: 1.0,
        });
        point
    }

    /// The estimate behind ratios that vary reaches below all of them.
    #[test]
    fn no_percentile_lies_below_the_median() {
        let (machine, points) = (unknown(), [of_single_runs([1000, 1600].into_iter())]);
        let evidence = Evidence::new(&machine, &points, Unit::Nanoseconds);
        let over = evidence.over_median("a", points[0].x, Percentile::P99);
        let over = over.unwrap();
        assert!(over.lo == 1.0 && over.hi > 1.6, "{over}");
    }

    /// The range of all passes can only grow with their number.
    #[test]
    fn more_passes_narrow_a_percentile_of_single_runs() {
        let width = |passes: u64| {
            let longest = (0..passes).map(|pass| 2000 + 40 * (pass % 4));
            let (machine, points) = (unknown(), [of_single_runs(longest)]);
            let evidence = Evidence::new(&machine, &points, Unit::Nanoseconds);
            let x = points[0].x;
            let over = evidence.over_median("a", x, Percentile::P99).unwrap();
            let value = evidence.percentile_within_step("a", x, Percentile::P99);
            [over.doubt(), value.unwrap().doubt()]
        };
        let [few, many] = [4, 16].map(width);
        assert!(many[0] < 0.6 * few[0], "{few:?} {many:?}");
        assert!(many[1] < few[1], "{few:?} {many:?}");
    }
}
