//! Merges several passes over the same cases.
//!
//! A selection is measured from end to end more than once: the same case in other physical pages, in
//! another random order, a minute later. Consecutive samples agree far better with each other than with
//! samples of another minute, above all in memory that other guests share. Only passes show the
//! difference.

use crate::experiment::{Count, Measured, Pass, Point, Quality, State, ThreadStats};
use crate::measure::Ended;
use crate::order;
use crate::prelude::*;
use crate::stats::{Interval, Summary, median_of};
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

/// A pass is remote if a line's round trip took more than this times the shortest one between the same
/// CPUs. Smaller factors are noise; a core of another last level is three times as far.
const REMOTE: f64 = 2.0;

/// Marks passes as disturbed in which the host had the first two CPUs farther apart than at other times:
/// the cores of a guest's CPUs change, and do not always share a cache.
pub fn mark_remote<'p>(points: impl IntoIterator<Item = &'p mut Point>) {
    let mut shortest: BTreeMap<[usize; 2], f64> = BTreeMap::new();
    let mut passes = Vec::new();
    for measured in points.into_iter().filter_map(Point::measured_mut) {
        // Threads that share a CPU or a core wait for other things than lines.
        let threads =
            measured.thread_stats.filter(|of| of.misplaced.is_none() && of.workers == of.cpus);
        if let Some((pair, ticks)) = threads.and_then(|of| of.pair.zip(of.round_trip)) {
            let least = shortest.entry(pair).or_insert(ticks);
            *least = least.min(ticks);
            passes.push((&mut measured.quality, pair, ticks));
        }
    }
    for (quality, pair, ticks) in passes {
        if ticks > REMOTE * shortest[&pair] {
            *quality = Quality::Disturbed.max(*quality);
        }
    }
}

/// Merges points of the same series and x, in the order in which they first occur, each of the next pass.
pub fn merged(points: Vec<Point>) -> Vec<Point> {
    merged_by_number(points.into_iter().map(|point| (None, point)))
}

/// Merges points as [`merged`] does, with the numbers of their passes where these are known.
pub fn merged_by_number(points: impl IntoIterator<Item = (Option<u32>, Point)>) -> Vec<Point> {
    let mut groups: Vec<Vec<(u32, Point)>> = Vec::new();
    let mut places: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for (number, point) in points {
        // Adding 0 turns -0 into 0, which is the same place.
        let place = (point.series.clone(), (point.x + 0.0).to_bits());
        match places.entry(place) {
            Entry::Occupied(index) => {
                let group = &mut groups[*index.get()];
                group.push((number.unwrap_or(group.len() as u32), point));
            }
            Entry::Vacant(free) => {
                free.insert(groups.len());
                groups.push(vec![(number.unwrap_or(0), point)]);
            }
        }
    }
    groups.into_iter().map(one).collect()
}

/// Merges all passes over a case. Untestable passes count only if all passes are untestable.
fn one(mut passes: Vec<(u32, Point)>) -> Point {
    let measured = passes.iter().filter_map(|(number, pass)| {
        let State::Measured(measured) = &pass.state else { return None };
        Some((*number, (**measured).clone()))
    });
    let (numbers, measured): (Vec<u32>, Vec<Measured>) = measured.unzip();
    let (_, mut point) = passes.swap_remove(0);
    if let Some(together) = together(measured, &numbers) {
        point.state = State::Measured(Box::new(together));
    }
    point
}

/// Merges the measurements of passes: the median of their medians, in an interval that contains all
/// their intervals, which is the range that one run may show. Only passes of the best quality count.
/// [`Doubt`](crate::experiment::Doubt) estimates their value.
fn together(mut passes: Vec<Measured>, numbers: &[u32]) -> Option<Measured> {
    if passes.len() < 2 {
        return passes.pop();
    }
    let quality = passes.iter().map(|pass| pass.quality).min()?;
    let counted: Vec<&Measured> = passes.iter().filter(|pass| pass.quality == quality).collect();
    let over = |of: fn(&Measured) -> f64, pick: fn(f64, f64) -> f64| {
        let values = counted.iter().map(|pass| of(pass));
        values.reduce(pick).unwrap_or(f64::NAN)
    };
    let ratios: Option<Vec<f64>> = counted.iter().map(|pass| pass.core_per_tick).collect();
    // Readers take pages as a fact only if all counted passes agree.
    let pages = match &order::distinct(counted.iter().map(|pass| pass.pages.as_str()))[..] {
        [pages] => (*pages).to_owned(),
        several => format!("differs by pass: {}", several.join(" or ")),
    };
    let ticks = Summary {
        n: counted.iter().map(|pass| pass.ticks.n).sum(),
        median: median_of(counted.iter().map(|pass| pass.ticks.median))?,
        mad: over(|pass| pass.ticks.mad, f64::max),
        min: over(|pass| pass.ticks.min, f64::min),
        interval: Interval::new(
            over(|pass| pass.ticks.interval.lo, f64::min),
            over(|pass| pass.ticks.interval.hi, f64::max),
        ),
    };
    let ended = passes
        .iter()
        .map(|pass| pass.ended)
        .find(|ended| *ended != Ended::Precise)
        .unwrap_or(Ended::Precise);
    let each = passes.iter().zip(numbers).map(|(pass, &number)| Pass { number, ..pass.pass() });
    let each = each.collect();
    let disturbed = passes.iter().map(|pass| pass.disturbed).sum();
    let counts = counted_together(&passes);
    let runs = passes.iter().flat_map(|pass| pass.runs.clone()).collect();
    let interrupts = passes.iter().map(|pass| pass.interrupts);
    let interrupts = interrupts.sum::<Option<u64>>();
    let all_stats = || counted.iter().filter_map(|pass| pass.thread_stats);
    let trips: Vec<f64> = all_stats().filter_map(|of| of.round_trip).collect();
    let stats = all_stats().reduce(ThreadStats::with).map(|stats| ThreadStats {
        round_trip: (!trips.is_empty()).then(|| trips.iter().sum::<f64>() / trips.len() as f64),
        ..stats
    });
    let first = passes.swap_remove(0);
    Some(Measured {
        ticks,
        core_per_tick: ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64),
        disturbed,
        quality,
        ended,
        pages,
        // Samples of several passes have different lengths. The record has them pass by pass.
        samples: Vec::new(),
        passes: each,
        counts,
        runs,
        interrupts,
        thread_stats: stats,
        ..first
    })
}

/// Merges the counts of passes per quantity, in an interval that contains the counts of all passes in
/// which the quantity was counted.
fn counted_together(passes: &[Measured]) -> Vec<Count> {
    let mut together: Vec<Count> = Vec::new();
    for count in passes.iter().flat_map(|pass| &pass.counts) {
        let known = together.iter_mut().find(|of| of.quantity == count.quantity);
        match known {
            Some(known) => {
                known.value = known.value.hull(count.value);
                known.multiplexed |= count.multiplexed;
            }
            None => together.push(*count),
        }
    }
    together
}

/// Returns the values of several points, pass by pass: all points of a pass meet the same conditions.
/// Only passes in which each point was undisturbed count. Without such a pass, returns one row in which
/// each point's interval contains its own least disturbed passes.
pub(crate) fn side_by_side<const N: usize>(points: [&[Pass]; N]) -> Vec<[Interval; N]> {
    if points.iter().any(|point| point.is_empty()) {
        return Vec::new();
    }
    let clean = |point: &[Pass], number| {
        let mut passes = point.iter();
        let pass = passes.find(|pass| pass.number == number)?;
        (pass.quality == Quality::Clean).then_some(pass.interval)
    };
    let numbers = points[0].iter().map(|pass| pass.number);
    let rows = numbers.map(|number| points.map(|point| clean(point, number)));
    let together: Vec<[Interval; N]> = rows
        .filter(|row| row.iter().all(Option::is_some))
        .map(|row| row.map(|interval| interval.expect("every pass is clean")))
        .collect();
    if !together.is_empty() {
        return together;
    }
    vec![points.map(|point| {
        let quality = point.iter().map(|pass| pass.quality).min();
        let counted = point.iter().filter(|pass| Some(pass.quality) == quality);
        let hull = counted.map(|pass| pass.interval).reduce(Interval::hull);
        hull.unwrap_or(point[0].interval)
    })]
}

#[cfg(test)]
pub(crate) mod tests {
    use Quality::{Clean, Disturbed};

    use super::*;
    use crate::experiment::Untestable;
    use crate::host::Misplaced;
    use crate::kernel::Work;
    use crate::pmu::Quantity;

    const SHARED_CORE: Quality = Quality::Misplaced(Misplaced::OneCore);

    fn timed(series: &str, median: f64) -> Point {
        let mut values = [0.99, 1.0, 1.01].map(|share| share * median);
        let measured = Measured {
            ticks: Summary::of(&mut values).unwrap(),
            core_per_tick: Some(1.5),
            operations: 100,
            work: Work::default(),
            samples: Vec::new(),
            disturbed: 1,
            quality: Quality::Clean,
            ended: Ended::Precise,
            pages: "4 KiB".into(),
            passes: Vec::new(),
            counts: Vec::new(),
            runs: Vec::new(),
            interrupts: None,
            thread_stats: None,
            confidence: None,
        };
        point(series, State::Measured(Box::new(measured)))
    }

    fn point(series: &str, state: State) -> Point {
        Point { series: series.into(), x: 1.0, state }
    }

    #[test]
    fn the_interval_holds_both_passes() {
        let merged = merged(vec![timed("a", 10.0), timed("b", 7.0), timed("a", 12.0)]);
        assert_eq!(merged.len(), 2);
        let a = merged[0].measured().unwrap();
        assert_eq!(a.ticks.median, 11.0);
        assert_eq!(a.ticks.n, 6);
        assert_eq!(a.disturbed, 2);
        assert!(a.ticks.interval.lo <= 9.9 && a.ticks.interval.hi >= 12.12);
        assert_eq!(a.passes.len(), 2);
        assert!(a.noisy(), "passes 20 % apart are noise");
    }

    pub fn pass(median: f64, quality: Quality) -> Point {
        let mut point = timed("a", median);
        point.measured_mut().unwrap().quality = quality;
        point
    }

    /// A point that was not measured in a pass is compared in the others.
    #[test]
    fn points_are_compared_pass_by_pass_where_one_lacks_a_pass() {
        let passes = |numbers: [u32; 2], times: [f64; 2]| {
            let points = times.map(|time| timed("a", time));
            let numbers = numbers.map(Some).into_iter();
            let merged = merged_by_number(numbers.zip(points));
            merged[0].measured().unwrap().passes.clone()
        };
        let [of, to] = [passes([0, 2], [10.0, 30.0]), passes([1, 2], [5.0, 15.0])];
        let [[of, to]] = side_by_side([&of[..], &to])[..] else {
            panic!("both were measured in pass 2 alone");
        };
        assert!(of.lo < 30.0 && of.hi > 30.0 && to.lo < 15.0 && to.hi > 15.0);
    }

    #[test]
    fn the_round_trip_is_the_mean_of_all_passes() {
        let near = |ticks| {
            let mut point = timed("a", 10.0);
            point.measured_mut().unwrap().thread_stats = Some(ThreadStats {
                workers: 2,
                cpus: 2,
                round_trip: Some(ticks),
                ..ThreadStats::default()
            });
            point
        };
        let merged = merged([200.0, 200.0, 200.0, 360.0].map(near).into());
        let stats = merged[0].measured().unwrap().thread_stats.unwrap();
        assert_eq!(stats.round_trip, Some(240.0));
    }

    /// A pass of lower quality than the best contributes only its own interval.
    #[test]
    fn the_most_undisturbed_passes_count() {
        let of = |first, second| {
            let merged = merged(vec![pass(10.0, first), pass(20.0, second)]);
            let both = merged[0].measured().unwrap();
            assert_eq!(both.passes.len(), 2);
            (both.ticks.median, both.ticks.n, both.quality)
        };
        for (better, worse) in [(Clean, Disturbed), (Clean, SHARED_CORE), (Disturbed, SHARED_CORE)]
        {
            assert_eq!(of(better, better), (15.0, 6, better));
            assert_eq!(of(better, worse), (10.0, 3, better));
            assert_eq!(of(worse, better), (20.0, 3, better));
            assert_eq!(of(worse, worse), (15.0, 6, worse));
        }
    }

    #[test]
    fn the_clock_and_the_pages_are_those_of_the_passes_that_count() {
        let of = |quality| {
            let mut other = pass(20.0, quality);
            let measured = other.measured_mut().unwrap();
            (measured.core_per_tick, measured.pages) = (Some(2.5), "2 MiB".into());
            let merged = merged(vec![other, pass(10.0, Clean)]);
            let both = merged[0].measured().unwrap();
            (both.core_per_tick.unwrap(), both.pages.clone())
        };
        let differs = "differs by pass: 2 MiB or 4 KiB".to_owned();
        assert_eq!(of(Clean), (2.0, differs));
        assert_eq!(of(Disturbed), (1.5, "4 KiB".to_owned()));
    }

    #[test]
    fn a_pass_with_the_threads_far_apart_is_disturbed() {
        let stats = |pair, ticks| ThreadStats {
            workers: 2,
            cpus: 2,
            pair,
            round_trip: ticks,
            ..ThreadStats::default()
        };
        let known = |pair, ticks| stats(Some(pair), Some(ticks));
        let one_core =
            |ticks| ThreadStats { misplaced: Some(Misplaced::OneCore), ..known([0, 1], ticks) };
        let two_cores =
            ThreadStats { misplaced: Some(Misplaced::TwoCores), ..stats(Some([0, 1]), None) };
        let crowded = |ticks| ThreadStats { workers: 4, ..known([0, 1], ticks) };
        // Round trips between threads of one core, or between threads that wait for each other, say
        // nothing. Two CPUs that are always far apart are as the system reports.
        let expected = [
            (known([0, 1], 200.0), Clean),
            (known([0, 1], 390.0), Clean),
            (known([0, 1], 600.0), Disturbed),
            (known([0, 2], 500.0), Clean),
            (one_core(70.0), SHARED_CORE),
            (one_core(700.0), SHARED_CORE),
            (two_cores, Quality::Misplaced(Misplaced::TwoCores)),
            (crowded(50.0), Clean),
            (crowded(6000.0), Clean),
            (stats(Some([0, 1]), None), Clean),
            (stats(None, Some(900.0)), Clean),
        ];
        let mut points = expected.map(|(stats, _)| {
            let mut point = timed("a", 10.0);
            let measured = point.measured_mut().unwrap();
            measured.thread_stats = Some(stats);
            measured.quality = Quality::of(measured.thread_stats, false);
            point
        });
        mark_remote(&mut points);
        let qualities = points.map(|point| point.measured().unwrap().quality);
        assert_eq!(qualities, expected.map(|(_, quality)| quality));
    }

    /// Passes in which one of two points was disturbed say nothing about both, unless there are no other
    /// passes: then each point is represented by its least disturbed passes.
    #[test]
    fn points_are_held_against_each_other_where_both_were_alone() {
        let pass = |value: f64, quality| Pass {
            number: 0,
            interval: Interval::exact(value),
            quality,
            core_per_tick: None,
            slowed: None,
            spread: None,
        };
        let numbered = |passes: &[Pass]| -> Vec<Pass> {
            let passes = passes.iter().zip(0..);
            let passes = passes.map(|(pass, number)| Pass { number, ..*pass });
            passes.collect()
        };
        let pairs = |of: &[Pass], to: &[Pass]| {
            let [of, to] = [of, to].map(numbered);
            let rows = side_by_side([&of[..], &to]).into_iter();
            let ends = rows.map(|row| row.map(|interval| (interval.lo, interval.hi)));
            ends.collect::<Vec<_>>()
        };
        let (first, second) = (pass(1.0, Clean), pass(2.0, Clean));
        let exact = |value| (value, value);
        assert_eq!(
            pairs(&[first, second], &[second, first]),
            [[exact(1.0), exact(2.0)], [exact(2.0), exact(1.0)]]
        );
        for worse in [Disturbed, SHARED_CORE] {
            let crowded = pass(9.0, worse);
            assert_eq!(pairs(&[first, crowded], &[second, first]), [[exact(1.0), exact(2.0)]]);
            assert_eq!(
                pairs(&[crowded, crowded, first], &[second, first]),
                [[exact(1.0), (1.0, 2.0)]]
            );
            assert_eq!(pairs(&[crowded, first], &[crowded, crowded]), [[exact(1.0), exact(9.0)]]);
        }
        let (crowded, on_one) = (pass(8.0, Disturbed), pass(9.0, SHARED_CORE));
        assert_eq!(pairs(&[crowded, on_one], &[on_one, crowded]), [[exact(8.0), exact(8.0)]]);
        assert!(pairs(&[first], &[]).is_empty());
    }

    #[test]
    fn counts_of_the_passes_come_together_by_what_they_count() {
        let with = |misses: f64, multiplexed| {
            let mut point = timed("a", 10.0);
            let measured = point.measured_mut().unwrap();
            let count =
                |quantity, value| Count { quantity, value: Interval::exact(value), multiplexed };
            measured.counts.push(count(Quantity::L1dMisses, misses));
            if multiplexed {
                measured.counts.push(count(Quantity::Cycles, 8.0));
            }
            point
        };
        let merged = merged(vec![with(1.0, false), with(1.5, true), timed("a", 10.0)]);
        let [misses, cycles] = merged[0].counts() else {
            panic!("two quantities were counted: {:?}", merged[0].counts());
        };
        assert_eq!(misses.value, Interval::new(1.0, 1.5));
        assert!(misses.multiplexed, "one pass was");
        assert_eq!(cycles.value, Interval::exact(8.0));
    }

    #[test]
    fn a_pass_that_could_not_be_measured_does_not_hide_one_that_was() {
        let reason = State::Untestable(Untestable("no memory".into()));
        let both = merged(vec![point("a", reason.clone()), timed("a", 5.0)]);
        assert!(matches!(both[0].state, State::Measured(_)));
        let none = merged(vec![point("a", reason.clone()), point("a", reason)]);
        assert!(matches!(none[0].state, State::Untestable(_)));
    }
}
