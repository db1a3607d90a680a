//! Between what experiments work with and the lines of a record, both ways.
//!
//! A record alone suffices to judge and to draw: the points come back as they were measured, and
//! the [`Machine`] comes back from the header and the points of the ladder.

mod counts;
mod cpu;

pub use counts::{counting_lines, counting_of};
pub use cpu::{cache_of, core_of, cpu_line, kernel_cache_line};

use counts::{count_line, count_of};

use super::record::{
    Header, Line, MACHINE, Outcome, PointLine, PortsLine, RunAheadLine, ThreadStatsLine, Timed,
};
use crate::cpu::{Cache, CacheKind, Ports};
use crate::experiment::{
    Calibration, CoreDistances, CpuOrder, LADDER, Machine, Measured, PassVariation, Placement,
    Point, Quality, Ranges, Reach, Rung, State, ThreadStats, Untestable, merged, rung_of,
};
use crate::kernel::Work;
use crate::measure::{Ended, Sample};
use crate::os::leash::RunAhead;
use crate::os::sysfs::CpuLocation;
use crate::stats::{Interval, Summary};
use crate::time::Rate;

/// The flag of a point that was measured under another experiment, before that one's id.
const SAME_AS: &str = "same as ";

/// The flag of a noisy point.
const NOISY: &str = "noisy";

/// The flag of a point with disturbed samples, before their number.
const DISTURBED: &str = "disturbed ";

/// A point of a pass as a record keeps it. `same_as` is the experiment that had measured the case
/// before in the same pass.
pub fn line_of(experiment: &str, pass: u32, point: &Point, same_as: Option<&str>) -> PointLine {
    let outcome = match &point.state {
        State::Measured(measured) => Outcome::Timed(Box::new(timed_of(measured, same_as))),
        // JSON has no word for the others.
        State::Counted(value) if value.is_finite() => Outcome::Counted(*value),
        State::Counted(value) => Outcome::Untestable(format!("the count is {value}")),
        State::Untestable(Untestable(reason)) => Outcome::Untestable(reason.clone()),
    };
    PointLine {
        experiment: experiment.to_owned(),
        series: point.series.clone(),
        x: point.x,
        pass,
        outcome,
    }
}

/// The point that a line keeps.
pub fn point_of(line: &PointLine) -> Point {
    let state = match &line.outcome {
        Outcome::Timed(timed) => State::Measured(Box::new(measured_of(timed))),
        Outcome::Counted(value) => State::Counted(*value),
        Outcome::Untestable(reason) => State::Untestable(Untestable(reason.clone())),
    };
    Point {
        series: line.series.clone(),
        x: line.x,
        state,
    }
}

/// The points of an experiment, its passes merged, in the order in which they were first measured.
pub fn points_of(lines: &[Line], experiment: &str) -> Vec<Point> {
    points_among(lines.iter().filter_map(Line::point), experiment)
}

/// The same, from the lines of points alone.
pub fn points_among<'a>(
    lines: impl IntoIterator<Item = &'a PointLine>,
    experiment: &str,
) -> Vec<Point> {
    let of_experiment = lines
        .into_iter()
        .filter(|line| line.experiment == experiment)
        .map(point_of);
    merged(of_experiment.collect())
}

/// The rungs of the ladder in a record.
pub fn ladder_of(lines: &[Line]) -> Vec<Point> {
    points_of(lines, MACHINE)
}

/// The machine that a header and the points of the ladder describe.
pub fn machine_of(header: &Header, ladder: &[Point]) -> Machine {
    let rate = Rate::from_hz(header.tick_hz);
    let caches: Vec<Cache> = header.cpu.caches.iter().filter_map(cache_of).collect();
    let mut rungs: Vec<Rung> = ladder
        .iter()
        .filter(|point| point.series == LADDER)
        .filter_map(|point| rung_of(point, rate))
        .collect();
    rungs.sort_by(|a, b| a.working_set.total_cmp(&b.working_set));
    let machine = Machine {
        load_to_use: header.load_to_use,
        cpu_order: seating_of(header),
        ports: header
            .ports
            .map(|PortsLine { loads, stores }| Ports { loads, stores }),
        counting: counting_of(&header.counting),
        rate,
        seed: header.seed,
        ranges: Ranges::from_ladder(&rungs, reported_sizes(&caches)),
        ladder: rungs,
        caches,
        largest: usize::try_from(header.largest).unwrap_or(usize::MAX),
        full: header.profile == "full",
        calibration: calibration_of(header),
        spread: PassVariation::default(),
        ways: CoreDistances::default(),
    };
    let calibration = machine.calibration.clone().with(ladder, &machine);
    Machine {
        calibration,
        ..machine
    }
}

/// What a header alone tells for predictions.
fn calibration_of(header: &Header) -> Calibration {
    let tlbs = header.cpu.tlbs.iter();
    let of_loads = tlbs.filter(|tlb| ["data", "unified", "load"].contains(&tlb.holds.as_str()));
    let tlbs = of_loads.map(|tlb| Reach {
        level: tlb.level,
        pages: tlb.pages.clone(),
        entries: tlb.entries,
        ways: (tlb.ways > 0).then_some(tlb.ways),
    });
    Calibration::known(
        tlbs.collect(),
        header.hypervisor.is_some(),
        core_of(&header.cpu),
    )
}

/// Where the threads of a run sat.
fn seating_of(header: &Header) -> CpuOrder {
    let seats = header.seats.iter();
    let seats = seats.map(|&[cpu, core, l2, last_level, package]| CpuLocation {
        cpu,
        core,
        l2,
        last_level,
        package,
    });
    let placement = header.placement.as_deref().and_then(Placement::named);
    CpuOrder::placed(
        header.pinned,
        seats.collect(),
        placement.unwrap_or_default(),
    )
}

/// The sizes in bytes that `caches` state for L1d, L2 and the last level behind them.
pub fn reported_sizes(caches: &[Cache]) -> [Option<f64>; 3] {
    let data = || caches.iter().filter(|c| c.kind != CacheKind::Instruction);
    let size_of = |level| data().find(|c| c.level == level).map(|c| c.size as f64);
    let last = data().filter(|c| c.level > 2).max_by_key(|c| c.level);
    [size_of(1), size_of(2), last.map(|c| c.size as f64)]
}

fn timed_of(measured: &Measured, same_as: Option<&str>) -> Timed {
    let Summary {
        n,
        median,
        mad,
        min,
        interval,
    } = measured.ticks;
    let Work {
        loads,
        stores,
        bytes_read,
        bytes_written,
        flops,
        instructions,
    } = measured.work;
    let mut flags = Vec::new();
    if measured.noisy() {
        flags.push(NOISY.to_owned());
    }
    if measured.disturbed > 0 {
        flags.push(format!("{DISTURBED}{}", measured.disturbed));
    }
    flags.extend(ended_name(measured.ended).map(str::to_owned));
    flags.extend(same_as.map(|id| format!("{SAME_AS}{id}")));
    Timed {
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
        pages: measured.pages.clone(),
        crew: measured.crew.map(|crew| ThreadStatsLine {
            members: crew.members,
            cpus: crew.cpus,
            fastest: crew.fastest,
            slowest: crew.slowest,
            pair: crew.pair,
            one_core: crew.one_core,
            round_trip: crew.round_trip,
            lead: crew.lead.map(|lead| RunAheadLine {
                least: lead.least,
                lower: lead.lower,
                median: lead.median,
                upper: lead.upper,
                most: lead.most,
            }),
        }),
        flags,
        counts: measured.counts.iter().map(count_line).collect(),
        samples: measured.samples.iter().map(row_of).collect(),
    }
}

fn measured_of(timed: &Timed) -> Measured {
    let [loads, stores, bytes_read, bytes_written] = timed.work;
    let flag = |prefix: &str| {
        timed
            .flags
            .iter()
            .find_map(|flag| flag.strip_prefix(prefix))
    };
    let disturbed = flag(DISTURBED)
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    let quiet = timed.samples.len().saturating_sub(disturbed);
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
        samples: timed.samples.iter().map(sample_of).collect(),
        disturbed,
        quality: match &timed.crew {
            Some(ThreadStatsLine { one_core: true, .. }) => Quality::SharedCore,
            _ if disturbed > 0 && timed.n > quiet => Quality::Disturbed,
            _ => Quality::Clean,
        },
        ended: ENDS
            .into_iter()
            .find(|end| ended_name(*end).is_some_and(|name| timed.flags.iter().any(|f| f == name)))
            .unwrap_or(Ended::Precise),
        pages: timed.pages.clone(),
        passes: Vec::new(),
        counts: timed.counts.iter().filter_map(count_of).collect(),
        crew: timed.crew.map(crew_of),
    }
}

/// The threads of a point.
pub fn crew_of(line: ThreadStatsLine) -> ThreadStats {
    ThreadStats {
        members: line.members,
        cpus: line.cpus,
        fastest: line.fastest,
        slowest: line.slowest,
        pair: line.pair,
        one_core: line.one_core,
        round_trip: line.round_trip,
        lead: line.lead.map(|lead| RunAhead {
            least: lead.least,
            lower: lead.lower,
            median: lead.median,
            upper: lead.upper,
            most: lead.most,
        }),
    }
}

/// The ends of sampling that a flag tells of.
const ENDS: [Ended; 3] = [Ended::Budget, Ended::Full, Ended::Stopped];

fn ended_name(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Precise => None,
        Ended::Budget => Some("budget"),
        Ended::Full => Some("full"),
        Ended::Stopped => Some("stopped"),
    }
}

fn row_of(sample: &Sample) -> [u64; 4] {
    [
        sample.short,
        sample.long,
        sample.yardstick,
        sample.disturbed.into(),
    ]
}

fn sample_of(&[short, long, yardstick, disturbed]: &[u64; 4]) -> Sample {
    Sample {
        short,
        long,
        yardstick,
        disturbed: disturbed != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Quantity;
    use crate::experiment::Count;

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
                samples: vec![Sample {
                    short: 10,
                    long: 20,
                    yardstick: 3,
                    disturbed: true,
                }],
                disturbed,
                quality: Quality::SharedCore,
                ended,
                pages: "2 MiB (transparent)".into(),
                passes: Vec::new(),
                counts: vec![Count {
                    quantity: Quantity::L1dMisses,
                    value: Interval::new(0.9, 1.1),
                    multiplexed: true,
                }],
                crew: Some(ThreadStats {
                    members: 4,
                    cpus: 2,
                    fastest: 4.5,
                    slowest: 5.25,
                    pair: Some([3, 1]),
                    one_core: true,
                    round_trip: Some(650.5),
                    lead: Some(RunAhead {
                        least: 0,
                        lower: 10,
                        median: 50,
                        upper: 90,
                        most: 100,
                    }),
                }),
            })),
        }
    }

    fn through_text(point: &Point) -> Point {
        let line = Line::Point(Box::new(line_of("D14", 0, point, Some("E1"))));
        let text = serde_json::to_string(&line).unwrap();
        let back: Line = serde_json::from_str(&text).unwrap();
        points_of(&[back], "D14").remove(0)
    }

    #[test]
    fn a_point_comes_back_as_it_was() {
        for ended in [Ended::Precise, Ended::Budget, Ended::Full, Ended::Stopped] {
            for disturbed in [0, 1] {
                let point = measured(ended, disturbed);
                assert_eq!(through_text(&point), point);
            }
        }
        for state in [
            State::Counted(0.1 + 0.2),
            State::Untestable(Untestable("no huge pages".into())),
        ] {
            let point = Point {
                series: "a".into(),
                x: 0.1,
                state,
            };
            assert_eq!(through_text(&point), point);
        }
    }

    #[test]
    fn a_count_that_json_cannot_tell_becomes_a_reason() {
        let point = Point {
            series: "a".into(),
            x: 1.0,
            state: State::Counted(f64::INFINITY),
        };
        let back = through_text(&point);
        assert_eq!(
            back.state,
            State::Untestable(Untestable("the count is inf".into()))
        );
    }

    #[test]
    fn the_flags_say_what_a_reader_must_know() {
        let line = line_of("D14", 0, &measured(Ended::Budget, 1), Some("E1"));
        let Outcome::Timed(timed) = line.outcome else {
            panic!("a timed point stays one");
        };
        assert_eq!(
            timed.flags,
            ["noisy", "disturbed 1", "budget", "same as E1"]
        );
    }
}
