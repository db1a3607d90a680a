//! The memory ladder: how large each level is, how long it takes and how much it delivers.

use crate::experiment::{Evidence, LADDER, Point, Range, Unit};
use crate::lab::analysis::Analysis;
use crate::lab::consistency::{BEYOND_L2, last_level_latency};
use crate::mem::LINE;
use crate::stats::Interval;

/// The levels of a machine's memory, and the walks that show them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// L1d, L2, the last level and memory, as far as the machine has them.
    pub levels: Vec<Level>,
    /// A line's way to the nearest core and back, or why it is not known.
    pub other_core: Option<Result<Latency, String>>,
    /// Misses of L1d that are on their way at once: at least, and at most.
    pub misses: Option<Interval>,
    /// Pages of 4 KiB that the first and the second TLB translate.
    pub pages: [Option<Interval>; 2],
    /// A step of a random walk in nanoseconds, over bytes.
    pub random: Vec<(f64, Interval)>,
    /// A step of a walk in order in nanoseconds, over bytes; empty if none was measured.
    pub in_order: Vec<(f64, Interval)>,
}

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its name.
    pub name: &'static str,
    /// The bytes of it that a program can count on, from the least to the most; `None` for memory, and
    /// where it is not known.
    pub size: Option<Interval>,
    /// The bytes that the CPU reports, where that is not what was found.
    pub reported: Option<f64>,
    /// The step of a random walk, or why it is not known.
    pub latency: Result<Latency, String>,
    /// What one core reads in GB/s, or why it is not known.
    pub read: Result<Interval, String>,
    /// What one core writes in GB/s, or why it is not known.
    pub write: Result<Interval, String>,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// In nanoseconds.
    pub nanoseconds: Interval,
    /// In core cycles, if the core clock is known.
    pub cycles: Option<Interval>,
}

/// The experiments whose points the ladder shows beside the ladder's own.
const BANDWIDTH: &str = "D35";
const ORDERS: [(&str, &str); 2] = [("D19", "sequential"), ("D14", "NPAD=7")];
const ROUND_TRIP: &str = "a line to the nearest core and back, by lock cmpxchg";

/// The largest factor between a measured size and the reported size that still counts as the same.
const SAME_SIZE: f64 = 1.35;

/// The ladder of a record.
pub fn ladder(analysis: &Analysis) -> Ladder {
    let machine = &analysis.machine;
    let ranges = &machine.ranges;
    let (random, in_order) = (walk(analysis), walk_in_order(analysis));
    if random.is_empty() {
        // Nothing was measured of the levels, and what CPUID says stands in the sheet.
        return Ladder::default();
    }
    let places = [
        ("L1d", Some(1), ranges.l1),
        ("L2", Some(2), ranges.l2),
        ("last level", Some(3), last_level(analysis)),
        ("memory", None, ranges.memory),
    ];
    let there = |(_, level, _): &(_, Option<u8>, _)| {
        let known = |level| ranges.capacities.iter().find(|of| of.level == level);
        level.is_none_or(|level| known(level).is_some_and(|of| of.usable() > 0.0))
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

/// The working sets that show the last level. If so little of the level is ours that no working set lies
/// well inside, the sets that are well beyond L2.
fn last_level(analysis: &Analysis) -> Range {
    let ranges = &analysis.machine.ranges;
    let usable = |level: u8| {
        let mut capacities = ranges.capacities.iter();
        capacities
            .find(|of| of.level == level)
            .map_or(0.0, |of| of.usable())
    };
    match ranges.llc.lo <= ranges.llc.hi {
        true => ranges.llc,
        false => Range {
            lo: BEYOND_L2 * usable(2),
            hi: usable(3),
        },
    }
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

/// The size of a level that a program can count on, and the reported one where that differs.
fn size(analysis: &Analysis, level: u8) -> (Option<Interval>, Option<f64>) {
    let inferred = &analysis.inferred;
    let mut capacities = analysis.machine.ranges.capacities.iter();
    let Some(capacity) = capacities.find(|of| of.level == level) else {
        return (None, None);
    };
    // Sets and ways tell a size to the byte; a step of the ladder is good to a factor.
    let exact = match level {
        1 => inferred.l1_size().map(Interval::exact),
        2 => inferred.l2.as_ref().map(|found| match inferred.l2_range {
            Some([least, most]) => Interval::new(least, most),
            None => Interval::exact(found.value),
        }),
        _ => None,
    };
    // A shared level keeps what comes back quickly, and loses the rest to others.
    if let (3, Some(share)) = (level, analysis.uncertain) {
        let reported = capacity.reported.filter(|reported| share.lo < *reported);
        // A step is found within an octave, so that it may lie behind the level's own size.
        let most = reported.map_or(share.hi, |reported| share.hi.min(reported));
        return (Some(Interval::new(share.lo, most)), reported);
    }
    let near = |found: Interval, reported: f64| {
        found.lo <= SAME_SIZE * reported && reported <= SAME_SIZE * found.hi
    };
    let found = exact.or_else(|| capacity.measured.map(Interval::exact));
    match (found, capacity.reported) {
        (Some(found), Some(reported)) if near(found, reported) => {
            (Some(Interval::exact(reported)), None)
        }
        (Some(found), reported) => (Some(found), reported),
        (None, reported) => (reported.map(Interval::exact), None),
    }
}

fn latency(analysis: &Analysis, level: Option<u8>, range: Range) -> Result<Latency, String> {
    let level = |unit| match level {
        Some(3) => last_level_latency(&analysis.machine, &analysis.ladder, unit),
        _ => evidence(analysis, &analysis.ladder, unit).level(LADDER, range),
    };
    match level(Unit::Nanoseconds) {
        Ok(nanoseconds) => Ok(Latency {
            nanoseconds,
            cycles: level(Unit::CoreCycles).ok(),
        }),
        Err(reason) => Err(reason.to_string()),
    }
}

/// What one core moves by the widest vectors that were measured, else by the streams of the calibration.
fn bandwidth(analysis: &Analysis, what: &str, range: Range) -> Result<Interval, String> {
    let machine = &analysis.machine;
    let points = analysis.answer(BANDWIDTH).map(|of| of.points.as_slice());
    let points = evidence(
        analysis,
        points.unwrap_or_default(),
        Unit::GigabytesPerSecond,
    );
    let of_width = |width: usize| {
        let label = format!("{what}, {width} B");
        if range == machine.ranges.memory {
            let place = machine.place_in_memory(machine.in_memory()).ok()?;
            return points.at(&label, place).ok();
        }
        points.level(&label, range).ok()
    };
    let widths = crate::kernel::Vector::BYTES.into_iter().rev();
    let widest = widths.clone().find_map(of_width);
    widest
        .or_else(|| streamed(analysis, what, range))
        .ok_or_else(|| {
            format!("{BANDWIDTH} was not run, and the calibration has no stream of this size")
        })
}

/// The rate of the calibration's streams of loads or stores.
fn streamed(analysis: &Analysis, what: &str, range: Range) -> Option<Interval> {
    use crate::experiment::Stream::{Loads, Stores};
    let stream = if what == "read" { Loads } else { Stores };
    let cycles = analysis.machine.calibration.line(stream, range)?;
    let header = &analysis.record.header;
    let hertz = header.tick_hz * header.core_per_tick.unwrap_or(1.0);
    Some(Interval::exact(LINE as f64 * hertz / cycles / 1e9))
}

fn round_trip(analysis: &Analysis) -> Option<Result<Latency, String>> {
    let mut points = analysis.ladder.iter();
    points.find(|point| point.series == ROUND_TRIP)?;
    let value = |unit| {
        let evidence = evidence(analysis, &analysis.ladder, unit);
        let points = evidence.series(ROUND_TRIP)?;
        Ok::<_, crate::experiment::Untestable>(points[0].1)
    };
    Some(match value(Unit::Nanoseconds) {
        Ok(nanoseconds) => Ok(Latency {
            nanoseconds,
            cycles: value(Unit::CoreCycles).ok(),
        }),
        Err(reason) => Err(reason.to_string()),
    })
}

impl Level {
    /// Its size in words: `48 KiB`, `2 to 12 MiB of 32 MiB`; empty if it has none.
    pub fn size_text(&self) -> String {
        use crate::lab::size::show;
        let Some(size) = self.size else {
            return String::new();
        };
        let (least, most) = (show(rounded(size.lo)), show(rounded(size.hi)));
        let own = match (least.split_once(' '), most.split_once(' ')) {
            _ if least == most => least,
            (Some((number, unit)), Some((_, same))) if unit == same => {
                format!("{number} to {most}")
            }
            _ => format!("{least} to {most}"),
        };
        match self.reported {
            Some(reported) => format!("{own} of {}", show(reported)),
            None => own,
        }
    }
}

/// To quarters of a power of two, unless it is a size that a cache has: a step shows no more.
fn rounded(bytes: f64) -> f64 {
    let unit = 2_f64.powf(bytes.max(1.0).log2().floor()) / 4.0;
    (bytes / unit).round() * unit
}

impl Latency {
    /// In nanoseconds, two digits or three: `3.5 ns`, `155 ns`.
    pub fn nanoseconds_text(&self) -> String {
        format!("{} ns", digits(self.nanoseconds.middle()))
    }

    /// In core cycles: `14 cycles`; `None` where the core clock is not known.
    pub fn cycles_text(&self) -> Option<String> {
        let cycles = self.cycles?.middle();
        Some(format!("{cycles:.0} cycles"))
    }
}

/// Two digits below 10, none behind the point above.
pub(in crate::lab) fn digits(value: f64) -> String {
    match value.abs() < 9.95 {
        true => format!("{value:.1}"),
        false => format!("{value:.0}"),
    }
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
        let shared = level(2.0 * MIB, 12.1 * MIB, Some(32.0 * MIB));
        assert_eq!(shared.size_text(), "2 to 12 MiB of 32 MiB");
        assert_eq!(level(49152.0, 49152.0, None).size_text(), "48 KiB");
        assert_eq!(level(786432.0, MIB, None).size_text(), "768 KiB to 1 MiB");
    }
}
