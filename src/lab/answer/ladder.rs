//! The memory ladder: size, latency and bandwidth of each level.

use crate::experiment::{Capacity, Evidence, LADDER, Point, ROUND_TRIP, Range, Testable, Unit};
use crate::lab::analysis::Analysis;
use crate::lab::consistency::{BEYOND_L2, last_level_latency};
use crate::lab::size::{rounded, share, show, show_range};
use crate::stats::Interval;

/// The levels of a machine's memory, and the walks that show them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// L1d, L2, the last level and memory; levels that the machine lacks are left out.
    pub levels: Vec<Level>,
    /// Time for moving a line to the nearest core and back, or the reason why it is unknown.
    pub other_core: Option<Result<Latency, String>>,
    /// Number of L1d misses that can be outstanding at the same time: at least, and at most.
    pub misses: Option<Interval>,
    /// Number of pages of 4 KiB that the first and the second level of the TLB translate.
    pub pages: [Option<Interval>; 2],
    /// Nanoseconds per step of a random walk, by working set in bytes.
    pub random: Vec<(f64, Interval)>,
    /// Nanoseconds per step of a walk in address order, by working set in bytes; empty if none was measured.
    pub in_order: Vec<(f64, Interval)>,
}

/// A level of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: &'static str,
    /// Number of bytes that a program can count on, as an interval; `None` for memory, or if it is unknown.
    pub size: Option<Interval>,
    /// Size in bytes that the CPU reports, if it differs from the measured size.
    pub reported: Option<f64>,
    /// Time per step of a random walk, or the reason why it is unknown.
    pub latency: Result<Latency, String>,
    /// Read bandwidth of one core in GB/s, or the reason why it is unknown.
    pub read: Result<Interval, String>,
    /// Write bandwidth of one core in GB/s, or the reason why it is unknown.
    pub write: Result<Interval, String>,
}

/// A time in nanoseconds and in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    pub nanoseconds: Interval,
    /// In core cycles, if the core clock is known.
    pub cycles: Option<Interval>,
}

/// Experiment that measures the bandwidth of each level.
const BANDWIDTH: &str = "D35";
/// Experiments and series of walks in address order, the preferred one first.
const ORDERS: [(&str, &str); 2] = [("D19", "sequential"), ("D14", "NPAD=7")];

/// The largest factor between a measured size and the reported size that still counts as the same.
const SAME_SIZE: f64 = 1.35;

pub fn ladder(analysis: &Analysis) -> Ladder {
    let machine = &analysis.machine;
    let ranges = &machine.ranges;
    let (random, in_order) = (walk(analysis), walk_in_order(analysis));
    if random.is_empty() {
        // No level was measured. The machine sheet shows what CPUID reports.
        return Ladder::default();
    }
    let places = [
        ("L1d", Some(1), ranges.l1),
        ("L2", Some(2), ranges.l2),
        ("last level", Some(3), last_level(analysis)),
        ("memory", None, ranges.memory),
    ];
    let there = |(_, level, _): &(_, Option<u8>, _)| {
        level.is_none_or(|level| capacity(analysis, level).is_some_and(|of| of.usable() > 0.0))
    };
    let level = |(name, level, range): (&'static str, Option<u8>, Range)| {
        let (size, reported) = level.map_or((None, None), |level| size(analysis, level));
        Level {
            name,
            size,
            reported,
            latency: latency(analysis, level, range),
            read: bandwidth(analysis, "read", range),
            write: bandwidth(analysis, "write", range),
        }
    };
    Ladder {
        levels: places.into_iter().filter(there).map(level).collect(),
        other_core: round_trip(analysis),
        misses: analysis.inferred.parallel,
        pages: analysis.inferred.entries,
        random,
        in_order,
    }
}

fn capacity(analysis: &Analysis, level: u8) -> Option<&Capacity> {
    analysis.machine.ranges.capacities.iter().find(|of| of.level == level)
}

/// Returns the working sets that show the last level. If other programs leave too little of it for a working
/// set well inside, these are the working sets well beyond L2.
fn last_level(analysis: &Analysis) -> Range {
    let llc = analysis.machine.ranges.llc;
    if llc.lo <= llc.hi {
        return llc;
    }
    let l2 = capacity(analysis, 2).map_or(0.0, Capacity::whole);
    Range { lo: BEYOND_L2 * l2, hi: capacity(analysis, 3).map_or(0.0, Capacity::usable) }
}

fn evidence<'a>(analysis: &'a Analysis, points: &'a [Point], unit: Unit) -> Evidence<'a> {
    Evidence::new(&analysis.machine, points, unit)
}

fn walk(analysis: &Analysis) -> Vec<(f64, Interval)> {
    let evidence = evidence(analysis, &analysis.ladder, Unit::Nanoseconds);
    evidence.series(LADDER).unwrap_or_default()
}

fn walk_in_order(analysis: &Analysis) -> Vec<(f64, Interval)> {
    let of = |(id, series): (&str, &str)| {
        let points = &analysis.answer(id)?.points;
        let evidence = evidence(analysis, points, Unit::Nanoseconds);
        evidence.series(series).ok()
    };
    ORDERS.into_iter().find_map(of).unwrap_or_default()
}

/// Returns the size of a level that a program can count on, and the reported size if that differs.
fn size(analysis: &Analysis, level: u8) -> (Option<Interval>, Option<f64>) {
    let inferred = &analysis.inferred;
    let Some(capacity) = capacity(analysis, level) else { return (None, None) };
    // Sets and ways give the exact size. A step of the ladder gives the size only to a factor.
    let exact = match level {
        1 => l1_size(analysis, capacity).map(Interval::exact),
        2 => inferred.l2.as_ref().map(|found| match inferred.l2_range {
            Some([least, most]) => Interval::new(rounded(least), rounded(most)),
            None => Interval::exact(found.value),
        }),
        _ => None,
    };
    // Working sets of this range may or may not stay in a shared last level.
    if let (3, Some(steps)) = (level, analysis.uncertain) {
        let [least, most] = share(steps, capacity.reported);
        let reported = capacity.reported.filter(|reported| steps.lo < *reported);
        return (Some(Interval::new(least, most)), reported);
    }
    let near = |found: Interval, reported: f64| {
        found.lo <= SAME_SIZE * reported && reported <= SAME_SIZE * found.hi
    };
    let stepped = capacity.measured.map(rounded).map(Interval::exact);
    let found = exact.or(stepped);
    match (found, capacity.reported) {
        (Some(found), Some(reported)) if near(found, reported) => {
            (Some(Interval::exact(reported)), None)
        }
        (Some(found), reported) => (Some(found), reported),
        (None, reported) => (reported.map(Interval::exact), None),
    }
}

/// Returns the size of L1d by its sets and ways if they are sure and the ladder's step lies near this size. On a
/// crowded host the lists may show the sets of another level.
fn l1_size(analysis: &Analysis, capacity: &Capacity) -> Option<f64> {
    const SURE: f64 = 0.9;
    const NEAR: f64 = 2.0;
    let found = analysis.inferred.l1.as_ref()?;
    let size = found.value.size();
    let near = |step: f64| step <= NEAR * size && size <= NEAR * step;
    let agrees = capacity.measured.is_none_or(near);
    (found.confidence >= SURE && agrees).then_some(size)
}

fn latency(analysis: &Analysis, level: Option<u8>, range: Range) -> Result<Latency, String> {
    in_both_units(|unit| match level {
        Some(3) => last_level_latency(&analysis.machine, &analysis.ladder, unit),
        _ => evidence(analysis, &analysis.ladder, unit).level(LADDER, range).map(Interval::from),
    })
}

fn in_both_units(time: impl Fn(Unit) -> Testable<Interval>) -> Result<Latency, String> {
    let nanoseconds = time(Unit::Nanoseconds).map_err(|reason| reason.to_string())?;
    Ok(Latency { nanoseconds, cycles: time(Unit::CoreCycles).ok() })
}

/// Returns the bandwidth with the widest vectors that were measured, else that of the calibration's streams.
fn bandwidth(analysis: &Analysis, what: &str, range: Range) -> Result<Interval, String> {
    let machine = &analysis.machine;
    let place = (range == machine.ranges.memory).then(|| machine.memory_size()).transpose();
    let place = place.map_err(|reason| reason.to_string())?;
    let points = analysis.answer(BANDWIDTH).map(|of| of.points.as_slice());
    let points = points.unwrap_or_default();
    let rates = evidence(analysis, points, Unit::GigabytesPerSecond);
    let of_width = |width: usize| {
        let label = format!("{what}, {width} B");
        let value = match place {
            Some(place) => rates.at(&label, place),
            None => rates.level(&label, range),
        };
        value.map(Interval::from).ok()
    };
    let mut widths = crate::kernel::Vector::BYTES.into_iter().rev();
    let widest = widths.find_map(of_width);
    widest.or_else(|| streamed(analysis, what, range, place)).ok_or_else(|| {
        let lacks = if points.is_empty() { "was not run" } else { "has no working set there" };
        format!("no stream of the calibration lies in the {range}, and {BANDWIDTH} {lacks}")
    })
}

/// Returns the bandwidth of the calibration's stream of loads or stores in GB/s.
fn streamed(analysis: &Analysis, what: &str, range: Range, place: Option<f64>) -> Option<Interval> {
    use crate::experiment::Stream::{Loads, Stores};
    let stream = if what == "read" { Loads } else { Stores };
    let rates = evidence(analysis, &analysis.ladder, Unit::GigabytesPerSecond);
    let Some(place) = place else {
        // Records of earlier versions have streams of the whole bytes of a measured size.
        let lo = range.lo.floor();
        let level = rates.level(stream.series(), Range { lo, ..range });
        return level.map(Interval::from).ok();
    };
    // Further passes may have moved the place in memory since the stream was chosen.
    let mut streams = rates.series(stream.series()).ok()?;
    streams.retain(|(bytes, _)| *bytes > analysis.machine.ranges.l2.hi);
    let away = |bytes: f64| (bytes / place).ln().abs();
    let nearest = streams.into_iter().min_by(|a, b| away(a.0).total_cmp(&away(b.0)));
    nearest.map(|(_, rate)| rate)
}

fn round_trip(analysis: &Analysis) -> Option<Result<Latency, String>> {
    let mut points = analysis.ladder.iter();
    points.find(|point| point.series == ROUND_TRIP)?;
    Some(in_both_units(|unit| {
        let evidence = evidence(analysis, &analysis.ladder, unit);
        Ok(evidence.series(ROUND_TRIP)?[0].1)
    }))
}

impl Level {
    /// Formats the size: `48 KiB`, `2 to 12 MiB of 32 MiB`; empty if there is none.
    pub fn size_text(&self) -> String {
        let Some(size) = self.size else { return String::new() };
        let own = show_range(size.lo, size.hi);
        match self.reported {
            Some(reported) => format!("{own} of {}", show(reported)),
            None => own,
        }
    }
}

impl Latency {
    /// Formats the nanoseconds with two or three digits: `3.5 ns`, `155 ns`.
    pub fn nanoseconds_text(&self) -> String {
        format!("{} ns", digits(self.nanoseconds.center()))
    }

    /// Formats the core cycles: `14 cycles`; `None` if the core clock is unknown.
    pub fn cycles_text(&self) -> Option<String> {
        let cycles = self.cycles?.center();
        Some(format!("{cycles:.0} cycles"))
    }
}

/// Formats a number below 10 with one decimal, and any other number with none.
pub(in crate::lab) fn digits(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_said_with_what_the_cpu_reports() {
        let level = |lo: f64, hi: f64, reported: Option<f64>| Level {
            name: "last level",
            size: Some(Interval::new(lo, hi)),
            reported,
            latency: Err(String::new()),
            read: Err(String::new()),
            write: Err(String::new()),
        };
        const MIB: f64 = 1048576.0;
        let shared = level(2.0 * MIB, rounded(12.1 * MIB), Some(32.0 * MIB));
        assert_eq!(shared.size_text(), "2 to 12 MiB of 32 MiB");
        assert_eq!(level(49152.0, 49152.0, None).size_text(), "48 KiB");
        assert_eq!(level(786432.0, MIB, None).size_text(), "768 KiB to 1 MiB");
        // A size that the CPU reports is not rounded.
        let reported = level(30.0 * MIB, 30.0 * MIB, None);
        assert_eq!(reported.size_text(), "30 MiB");
    }
}
