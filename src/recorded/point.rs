//! A point as a line of a record.

use serde::{Deserialize, Serialize};

use super::names;
use crate::experiment::{Count, Measured, Point, Quality, State, ThreadStats, Untestable};
use crate::kernel::Work;
use crate::measure::{Ended, Sample};
use crate::pmu::Quantity;
use crate::prelude::*;
use crate::record::{CountLine, RawPoint, RawTimed, ended_flag, noisy_flag, sample_row};
use crate::stats::{Interval, Summary};

/// A point of an experiment, measured in one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct PointLine {
    /// Id of the experiment; [`MACHINE`](crate::record::MACHINE) for the ladder.
    pub experiment: String,
    /// Pass over the selection in which the point was measured, from 0.
    pub pass: u32,
    /// The experiment that measured the same case earlier in this pass, if one did.
    pub same_as: Option<String>,
    /// The point.
    pub point: Point,
}

impl PointLine {
    /// Returns the line of a point that was measured in a pass. A count that JSON cannot represent
    /// (infinite or NaN) becomes untestable, with the count in its reason.
    pub fn new(experiment: &str, pass: u32, mut point: Point) -> Self {
        if let State::Counted(value) = point.state
            && !value.is_finite()
        {
            point.state = State::Untestable(Untestable(format!("the count is {value}")));
        }
        PointLine { experiment: experiment.to_owned(), pass, same_as: None, point }
    }
}

/// A point in the form that its line stores.
pub(crate) type Raw = RawPoint<String, Box<Timed>>;

/// A timed point's measurements in the form that its line stores.
pub(crate) type Timed =
    RawTimed<String, ThreadStats, Vec<String>, Vec<CountLine<String>>, Vec<[u64; 4]>>;

/// The flag of a point that another experiment measured: this prefix, then that experiment's id.
const SAME_AS: &str = "same as ";

/// The flag of a point with disturbed samples: this prefix, then their number.
const DISTURBED: &str = "disturbed ";

impl From<PointLine> for Raw {
    fn from(line: PointLine) -> Self {
        let PointLine { experiment, pass, same_as, point: Point { series, x, state } } = line;
        let (mut timed, mut counted, mut untestable) = (None, None, None);
        match state {
            State::Measured(measured) => timed = Some(Box::new(timed_of(*measured, same_as))),
            State::Counted(value) => counted = Some(value),
            State::Untestable(Untestable(reason)) => untestable = Some(reason),
        }
        RawPoint { experiment, series, x, pass, timed, counted, untestable }
    }
}

impl TryFrom<Raw> for PointLine {
    type Error = &'static str;

    fn try_from(raw: Raw) -> Result<Self, Self::Error> {
        let mut same_as = None;
        let state = match (raw.timed, raw.counted, raw.untestable) {
            (Some(timed), None, None) => {
                same_as = flag(&timed, SAME_AS).map(str::to_owned);
                State::Measured(Box::new(measured_of(*timed)))
            }
            (None, Some(value), None) => State::Counted(value),
            (None, None, Some(reason)) => State::Untestable(Untestable(reason)),
            _ => return Err("a point has one of `timed`, `counted` and `untestable`"),
        };
        let point = Point { series: names::of_today(raw.series), x: raw.x, state };
        Ok(PointLine { experiment: raw.experiment, pass: raw.pass, same_as, point })
    }
}

/// Returns the rest of the flag that begins with `prefix`.
fn flag<'a>(timed: &'a Timed, prefix: &str) -> Option<&'a str> {
    timed.flags.iter().find_map(|flag| flag.strip_prefix(prefix))
}

fn timed_of(measured: Measured, same_as: Option<String>) -> Timed {
    let Summary { n, median, mad, min, interval } = measured.ticks;
    let Work { loads, stores, bytes_read, bytes_written, flops, instructions } = measured.work;
    let mut flags = Vec::new();
    flags.extend(noisy_flag(measured.ticks.interval).map(str::to_owned));
    let disturbed = measured.disturbed;
    flags.extend((disturbed > 0).then(|| format!("{DISTURBED}{disturbed}")));
    flags.extend(ended_flag(measured.ended).map(str::to_owned));
    flags.extend(same_as.map(|id| format!("{SAME_AS}{id}")));
    let count = |count: &Count| CountLine {
        of: count.quantity.name().to_owned(),
        lo: count.value.lo,
        hi: count.value.hi,
        multiplexed: count.multiplexed,
    };
    let counts: Vec<_> = measured.counts.iter().map(count).collect();
    RawTimed {
        median,
        mad,
        min,
        lo: interval.lo,
        hi: interval.hi,
        n,
        core_per_tick: measured.core_per_tick,
        operations: measured.operations,
        work: [loads, stores, bytes_read, bytes_written],
        flops,
        instructions,
        pages: measured.pages,
        thread_stats: measured.thread_stats,
        flags,
        counts: Some(counts).filter(|counts| !counts.is_empty()),
        // A line belongs to one pass, so it has at most one distribution.
        runs: measured.runs.first().copied(),
        interrupts: measured.interrupts,
        samples: measured.samples.iter().map(sample_row).collect(),
    }
}

fn measured_of(timed: Timed) -> Measured {
    let [loads, stores, bytes_read, bytes_written] = timed.work;
    let disturbed = flag(&timed, DISTURBED).and_then(|count| count.parse().ok());
    let disturbed = disturbed.unwrap_or(0);
    let quiet = timed.samples.len().saturating_sub(disturbed);
    let ends = [Ended::Budget, Ended::Full, Ended::Stopped];
    let flagged = |end: &Ended| timed.flags.iter().any(|flag| ended_flag(*end) == Some(flag));
    // Counts of quantities that this version does not know are dropped.
    let count = |line: &CountLine<String>| {
        Some(Count {
            quantity: Quantity::named(&line.of)?,
            value: Interval::new(line.lo, line.hi),
            multiplexed: line.multiplexed,
        })
    };
    let sample = |&[short, long, yardstick, disturbed]: &[u64; 4]| Sample {
        short,
        long,
        yardstick,
        disturbed: disturbed != 0,
    };
    Measured {
        ticks: Summary {
            n: timed.n,
            median: timed.median,
            mad: timed.mad,
            min: timed.min,
            interval: Interval::new(timed.lo, timed.hi),
        },
        core_per_tick: timed.core_per_tick,
        operations: timed.operations,
        work: Work {
            loads,
            stores,
            bytes_read,
            bytes_written,
            flops: timed.flops,
            instructions: timed.instructions,
        },
        samples: timed.samples.iter().map(sample).collect(),
        disturbed,
        quality: Quality::of(timed.thread_stats, disturbed > 0 && timed.n > quiet),
        ended: ends.into_iter().find(flagged).unwrap_or(Ended::Precise),
        counts: timed.counts.iter().flatten().filter_map(count).collect(),
        pages: timed.pages,
        passes: Vec::new(),
        runs: timed.runs.into_iter().collect(),
        interrupts: timed.interrupts,
        thread_stats: timed.thread_stats,
        confidence: None,
    }
}

/// Creates a timed point without the experiment's details, for tests.
#[cfg(test)]
pub(crate) fn planted(x: f64, median: f64, samples: &[[u64; 4]]) -> PointLine {
    let line = serde_json::json!({
        "experiment": "D14", "series": "a", "x": x, "pass": 0,
        "timed": {
            "median": median, "mad": 0.0, "min": 1.0, "lo": 1.0, "hi": 1.0, "n": 15,
            "core_per_tick": 1.0, "operations": 10, "work": [1, 0, 8, 0],
            "pages": "4 KiB", "flags": [], "samples": samples,
        },
    });
    serde_json::from_value(line).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Distribution;
    use crate::host::{Misplaced, RunAhead};
    use crate::lab::record::Line;

    fn measured(ended: Ended, disturbed: usize) -> Point {
        let mut values = [4.9, 5.0, 5.1, 7.3, 1.0 / 3.0];
        Point {
            series: "NPAD=0".into(),
            x: 1408.0 / 3.0,
            state: State::Measured(Box::new(Measured {
                ticks: Summary::of(&mut values).unwrap(),
                core_per_tick: Some(1.304_347_826_086_956_5),
                operations: 12_345,
                work: Work {
                    loads: 1,
                    stores: 2,
                    bytes_read: 8,
                    bytes_written: 16,
                    flops: 5_000_000_000,
                    instructions: 7,
                },
                samples: vec![Sample { short: 10, long: 20, yardstick: 3, disturbed: true }],
                disturbed,
                quality: Quality::Misplaced(Misplaced::TwoCores),
                ended,
                pages: "2 MiB (transparent)".into(),
                passes: Vec::new(),
                counts: vec![Count {
                    quantity: Quantity::L1dMisses,
                    value: Interval::new(0.9, 1.1),
                    multiplexed: true,
                }],
                runs: Distribution::of(&mut [100, 101, 250], 100).into_iter().collect(),
                interrupts: Some(3),
                thread_stats: Some(ThreadStats {
                    workers: 4,
                    cpus: 2,
                    fastest: 4.5,
                    slowest: 5.25,
                    pair: Some([3, 1]),
                    misplaced: Some(Misplaced::TwoCores),
                    round_trip: Some(650.5),
                    lead: Some(RunAhead { least: 0, lower: 10, median: 50, upper: 90, most: 100 }),
                }),
                confidence: None,
            })),
        }
    }

    fn line(point: &Point) -> PointLine {
        PointLine { same_as: Some("E1".into()), ..PointLine::new("D14", 3, point.clone()) }
    }

    fn through_text(point: &Point) -> Point {
        let line = line(point);
        let text = serde_json::to_string(&Line::Point(Box::new(line.clone()))).unwrap();
        let Line::Point(back) = serde_json::from_str(&text).unwrap() else {
            panic!("a point stays one: {text}");
        };
        assert_eq!((&*back.experiment, back.pass), ("D14", 3));
        assert_eq!(back.same_as.is_some(), point.measured().is_some());
        back.point
    }

    #[test]
    fn a_point_comes_back_as_it_was() {
        for ended in [Ended::Precise, Ended::Budget, Ended::Full, Ended::Stopped] {
            for disturbed in [0, 1] {
                let point = measured(ended, disturbed);
                assert_eq!(through_text(&point), point);
            }
        }
        for state in
            [State::Counted(0.1 + 0.2), State::Untestable(Untestable("no huge pages".into()))]
        {
            let point = Point { series: "a".into(), x: 0.1, state };
            assert_eq!(through_text(&point), point);
        }
    }

    #[test]
    fn a_way_to_be_misplaced_is_one_flag() {
        for (way, flag) in Misplaced::ALL.into_iter().zip(["one_core", "two_cores"]) {
            let stats = ThreadStats { misplaced: Some(way), ..ThreadStats::default() };
            let text = serde_json::to_string(&stats).unwrap();
            assert!(text.contains(&format!("\"{flag}\":true")), "{text}");
            assert_eq!(text.matches("_core").count(), 1, "{text}");
            let back: ThreadStats = serde_json::from_str(&text).unwrap();
            assert_eq!(back.misplaced, Some(way));
        }
        let none = serde_json::to_string(&ThreadStats::default()).unwrap();
        assert!(!none.contains("_core"), "{none}");
    }

    #[test]
    fn a_count_that_json_cannot_tell_becomes_a_reason() {
        let point = Point { series: "a".into(), x: 1.0, state: State::Counted(f64::INFINITY) };
        let back = through_text(&point);
        assert_eq!(back.state, State::Untestable(Untestable("the count is inf".into())));
    }

    #[test]
    fn the_flags_say_what_a_reader_must_know() {
        let raw = Raw::from(line(&measured(Ended::Budget, 1)));
        let flags = raw.timed.expect("a timed point stays one").flags;
        assert_eq!(flags, ["noisy", "disturbed 1", "budget", "same as E1"]);
    }

    #[test]
    fn counts_come_back_unless_nobody_knows_what_they_are_of() {
        for multiplexed in [false, true] {
            let mut point = measured(Ended::Precise, 0);
            let counts = &mut point.measured_mut().unwrap().counts;
            counts[0].multiplexed = multiplexed;
            let text = serde_json::to_string(&line(&point)).unwrap();
            assert_eq!(text.contains("multiplexed"), multiplexed, "{text}");
            let strange = text.replace(Quantity::L1dMisses.name(), "uncertainty");
            let strange: PointLine = serde_json::from_str(&strange).unwrap();
            assert!(strange.point.counts().is_empty());
            let back: PointLine = serde_json::from_str(&text).unwrap();
            assert_eq!(back.point, point);
        }
    }
}
