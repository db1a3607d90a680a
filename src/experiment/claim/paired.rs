//! Ratios of series that were measured interleaved.

use crate::experiment::{Curve, Evidence, Range, Testable, Untestable};
use crate::prelude::*;
use crate::stats::Interval;

/// Returns the ratio of two series that were measured interleaved, on the same memory in the same order:
/// the median over the range of the points' [ratios](paired_points), bound by bound.
pub(crate) fn paired(e: &Evidence<'_>, of: &str, to: &str, range: Range) -> Testable<Interval> {
    let inside = ratios(e, of, to, |x| e.is_sure(range, x))?.into_iter();
    let inside: Vec<Interval> = inside.map(|(_, ratio)| ratio).collect();
    Interval::median_of(&inside).ok_or_else(|| {
        let mut points = e.points.iter();
        let without_value = points.find_map(|point| {
            let there = [of, to].contains(&&*point.series) && range.holds(point.x);
            let value = there.then(|| point.interval(e.unit, e.machine.rate));
            value?.err()
        });
        without_value.unwrap_or_else(|| {
            Untestable(format!("`{of}` and `{to}` have no point in common in the {range}"))
        })
    })
}

/// Returns the ratios of two series that were measured interleaved, point by point in ascending x.
///
/// Layouts, physical pages and the time of day are the same for both series within a pass, so each pass
/// gives one ratio. The value is estimated from the ratios of all passes. Its interval is widened to half a
/// percent on each side or more, so that the third digit of a ratio does not decide a claim whose threshold
/// it is close to.
pub(crate) fn paired_points(
    e: &Evidence<'_>,
    of: &str,
    to: &str,
) -> Testable<Vec<(f64, Interval)>> {
    ratios(e, of, to, |_| true)
}

/// Does the same for the points that are `wanted`. What is wrong with another point does not matter.
fn ratios(
    e: &Evidence<'_>,
    of: &str,
    to: &str,
    wanted: impl Fn(f64) -> bool,
) -> Testable<Vec<(f64, Interval)>> {
    // If a series has no points, its own reason is reported.
    let points = e.series(of)?;
    e.series(to)?;
    let mut ratios = Vec::new();
    for (x, _) in points.into_iter().filter(|(x, _)| wanted(*x)) {
        let ratio = e.ratio_of_passes((of, x), (to, x))?;
        ratios.extend(ratio.map(|ratio| (x, ratio.widened(0.005))));
    }
    Ok(ratios)
}

/// Returns the time of one series over another's at `x`, from their passes.
///
/// # Errors
/// If either series was not measured there, with the point's own reason if it was untestable.
pub(crate) fn paired_at(e: &Evidence<'_>, of: &str, to: &str, x: f64) -> Testable<Interval> {
    if let [(_, ratio)] = ratios(e, of, to, |place| place == x)?[..] {
        return Ok(ratio);
    }
    e.at(of, x).and_then(|_| e.at(to, x))?;
    Err(Untestable(format!("`{of}` and `{to}` have no pass in common at {x}")))
}

/// Returns the curve of the percentage by which `slow` exceeds `base`, point by point.
pub(crate) fn slowdown(e: &Evidence<'_>, label: &str, base: &str, slow: &str) -> Option<Curve> {
    let bases = e.series(base).ok()?;
    let points = e
        .series(slow)
        .ok()?
        .into_iter()
        .filter_map(|(x, value)| {
            let (_, base) = bases.iter().find(|point| point.0 == x)?;
            let over = value.ratio(*base)?;
            let percent = |factor: f64| (factor - 1.0) * 100.0;
            Some((x, Interval::new(percent(over.lo), percent(over.hi))))
        })
        .collect();
    Some(Curve { label: label.to_owned(), points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Confidence, Measured, Point, Priors, Quality, State, Unit, merged};
    use crate::kernel::Work;
    use crate::measure::Ended;
    use crate::stats::{Prior, Summary};

    const EVERYWHERE: Range = Range { lo: 0.0, hi: f64::INFINITY };

    fn timed(series: &str, median: f64) -> Point {
        let mut values = [0.999, 1.0, 1.001].map(|share| share * median);
        Point {
            series: series.into(),
            x: 4096.0,
            state: State::Measured(Box::new(Measured {
                ticks: Summary::of(&mut values).unwrap(),
                core_per_tick: Some(1.0),
                operations: 100,
                work: Work::default(),
                samples: Vec::new(),
                disturbed: 0,
                quality: Quality::Clean,
                ended: Ended::Precise,
                pages: "4 KiB".into(),
                passes: Vec::new(),
                counts: Vec::new(),
                runs: Vec::new(),
                interrupts: None,
                thread_stats: None,
                confidence: None,
            })),
        }
    }

    #[test]
    fn drift_that_both_series_share_cancels() {
        let machine = crate::experiment::machine::tests::unknown();
        // All times double in the second pass.
        let passes = [("a", 10.0), ("b", 11.0), ("a", 20.0), ("b", 22.0)];
        let points = merged(passes.map(|(series, time)| timed(series, time)).to_vec());
        let evidence = Evidence::new(&machine, &points, Unit::CoreCycles);
        let slower = paired(&evidence, "b", "a", EVERYWHERE).unwrap();
        assert!(slower.lo > 1.09 && slower.hi < 1.11, "{slower}");
    }

    #[test]
    fn the_ratio_over_a_range_is_the_median_of_its_points() {
        let machine = crate::experiment::machine::tests::unknown();
        let at = |x: f64, ratio: f64| {
            [("a", 10.0), ("b", 10.0 * ratio)]
                .map(|(series, time)| Point { x, ..timed(series, time) })
        };
        let points = [at(1.0, 1.0), at(2.0, 1.1), at(3.0, 1.5)].concat();
        let evidence = Evidence::new(&machine, &points, Unit::CoreCycles);
        let slower = paired(&evidence, "b", "a", EVERYWHERE).unwrap();
        assert!(slower.lo > 1.08 && slower.hi < 1.12, "{slower}");
    }

    /// The difference of two times may be negative in a small working set.
    #[test]
    fn a_point_elsewhere_does_not_matter() {
        let machine = crate::experiment::machine::tests::unknown();
        let at = |series, x, time| Point { x, ..timed(series, time) };
        let points = [
            at("a", 4096.0, -1.0),
            at("b", 4096.0, 2.0),
            at("a", 8192.0, 1.0),
            at("b", 8192.0, 2.0),
        ];
        let evidence = Evidence::new(&machine, &points, Unit::CoreCycles);
        assert!(paired_at(&evidence, "b", "a", 4096.0).is_err());
        let ratio = paired_at(&evidence, "b", "a", 8192.0).unwrap();
        assert!((ratio.middle() - 2.0).abs() < 0.01, "{ratio}");
        let beyond = Range { lo: 5000.0, ..EVERYWHERE };
        assert!(paired(&evidence, "b", "a", beyond).is_ok());
        // The reason for a missing point is the point's own.
        let refused = Point {
            x: 1.0,
            state: State::Untestable(Untestable("refused".into())),
            ..timed("b", 1.0)
        };
        let points = [&points[..], &[at("a", 1.0, 1.0), refused]].concat();
        let evidence = Evidence::new(&machine, &points, Unit::CoreCycles);
        let reason = paired(&evidence, "b", "a", Range::at(1.0)).unwrap_err().0;
        assert_eq!(reason, "refused");
    }

    /// Additional passes over only one of the series do not narrow the interval of the ratio.
    #[test]
    fn the_interval_of_a_ratio_is_that_of_the_passes_of_both() {
        let machine = crate::experiment::machine::tests::unknown();
        let passes = [("a", 10.0), ("b", 10.8), ("a", 10.4), ("b", 11.6), ("a", 10.2), ("b", 11.4)];
        let mut points = merged(passes.map(|(series, time)| timed(series, time)).to_vec());
        for point in &mut points {
            point.measured_mut().unwrap().confidence = Some(Confidence {
                cycles: None,
                states: None,
                priors: Priors { ratios: Prior { dof: 4.0, variance: 1e-4 }, ..Priors::KEPT },
                error: 0.05,
                width: 1.0,
            });
        }
        let width = |shares: [f64; 2]| {
            let mut points = points.clone();
            for (point, share) in points.iter_mut().zip(shares) {
                point.measured_mut().unwrap().narrow(share);
            }
            let evidence = Evidence::new(&machine, &points, Unit::CoreCycles);
            paired_at(&evidence, "b", "a", 4096.0).unwrap().doubt()
        };
        let now = width([1.0, 1.0]);
        assert!(width([0.1, 0.1]) < 0.3 * now);
        for shares in [[0.1, 1.0], [1.0, 0.1]] {
            assert!(width(shares) > 0.5 * now, "{shares:?}");
        }
        for shares in [[3.0, 1.0], [1.0, 3.0]] {
            assert!(width(shares) > 1.5 * now, "{shares:?}");
        }
    }
}
