//! A measured case, and the units in which its value is judged and drawn.

pub mod distribution;
pub mod pass;

use super::{Count, Distribution, Pass, Percentile, Quality, Testable, ThreadStats, Untestable};
use crate::kernel::Work;
use crate::measure::{Ended, Sample, slowed};
use crate::prelude::*;
use crate::stats::{Interval, Prior, Summary};
use crate::time::Rate;
use distribution::{percentile, step};

/// A measured point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The series of the point.
    pub series: String,
    /// The place on the horizontal axis.
    pub x: f64,
    /// The result.
    pub state: State,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The case was timed.
    Measured(Box<Measured>),
    /// The case was counted; the count is exact.
    Counted(f64),
    /// The case could not be tested.
    Untestable(Untestable),
}

/// A timed point.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Ticks per operation.
    pub ticks: Summary,
    /// Core cycles per tick meanwhile; `None` if the yardstick gave no value.
    pub core_per_tick: Option<f64>,
    /// Operations by which the two stretches of a sample differ.
    pub operations: u64,
    /// The work of an operation.
    pub work: Work,
    /// The samples in the order in which they were taken; empty in a point of several passes.
    pub samples: Vec<Sample>,
    /// The number of disturbed samples.
    pub disturbed: usize,
    /// The quality; in a point of several passes, that of the best pass.
    pub quality: Quality,
    /// Why sampling ended.
    pub ended: Ended,
    /// The pages that the system granted.
    pub pages: String,
    /// The passes in ticks, in a point of several passes.
    pub passes: Vec<Pass>,
    /// Counts per operation, from stretches separate from the timed ones.
    pub counts: Vec<Count>,
    /// The distributions of single runs, one per pass, where the case asks for them.
    pub runs: Vec<Distribution>,
    /// Interrupts of the CPU while the point was sampled, where they were counted.
    pub interrupts: Option<u64>,
    /// The threads, if there are several.
    pub thread_stats: Option<ThreadStats>,
    /// What claims are judged on in addition to `ticks`, whose interval is then that of the value behind
    /// the passes. `None` in a point as measured.
    pub confidence: Option<Confidence>,
}

/// What claims are judged on in addition to the ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The value in core cycles, with each pass converted by its own clock, if all passes had a clock.
    pub cycles: Option<Interval>,
    /// The two steady states in ticks, if the passes were in two states.
    pub states: Option<[Interval; 2]>,
    /// How the passes over points like this one differ.
    pub priors: Priors,
    /// The share of intervals that may miss their value.
    pub error: f64,
    /// The assumed fraction of the intervals' width: 1, except when the effect of further passes is
    /// estimated.
    pub width: f64,
}

/// How the passes over similar points differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priors {
    /// In ticks.
    pub ticks: Prior,
    /// In core cycles, with each pass converted by its own clock.
    pub cycles: Prior,
    /// As a ratio to the point measured interleaved.
    pub ratios: Prior,
}

impl Priors {
    /// For points without similar points.
    pub(crate) const KEPT: Priors =
        Priors { ticks: Prior::KEPT, cycles: Prior::KEPT, ratios: Prior::KEPT };

    /// Returns how the passes differ in `unit`.
    pub(crate) const fn of(self, unit: Unit) -> Prior {
        if unit.counts_cycles() { self.cycles } else { self.ticks }
    }
}

impl Measured {
    /// Whether the third digit is unreliable: passes or samples lie 3 % apart.
    pub fn noisy(&self) -> bool {
        self.ticks.interval.is_noisy()
    }

    /// Returns the interval in `unit`. In a point that claims are judged on, it is the interval of the
    /// value; otherwise it is the interval that the passes showed. Returns `None` if the unit does not
    /// apply: core cycles without a yardstick, bytes of an operation that moves none, or arithmetic that
    /// it does not do.
    pub fn interval(&self, unit: Unit, rate: Rate) -> Option<Interval> {
        let ticks = self.ticks.interval;
        let cycles = self.confidence.and_then(|of| of.cycles);
        let cycles = cycles.or_else(|| self.cycles(ticks));
        self.convert(ticks, cycles, unit, rate)
    }

    /// Returns a measurement of one pass as that pass.
    pub(crate) fn pass(&self) -> Pass {
        Pass {
            number: 0,
            interval: self.ticks.interval,
            quality: self.quality,
            core_per_tick: self.core_per_tick,
            slowed: self.slowed(),
            spread: self.spread(),
        }
    }

    /// Returns whether the value is known exactly, such as a count of one pass.
    pub(crate) fn is_exact(&self) -> bool {
        self.ticks.n == 1 && self.passes.is_empty()
    }

    /// Returns each pass in `unit`, even if there is only one.
    pub fn passes(&self, unit: Unit, rate: Rate) -> Option<Vec<Pass>> {
        let only = [self.pass()];
        let passes = if self.passes.is_empty() { &only } else { &self.passes[..] };
        let convert = |pass: &Pass| {
            let cycles = self.cycles(pass.interval);
            let interval = self.convert(pass.interval, cycles, unit, rate)?;
            Some(Pass { interval, ..*pass })
        };
        passes.iter().map(convert).collect()
    }

    /// Returns the median in `unit`, or `None` if the unit does not apply.
    pub fn median(&self, unit: Unit, rate: Rate) -> Option<f64> {
        let ticks = Interval::exact(self.ticks.median);
        self.convert(ticks, self.cycles(ticks), unit, rate).map(Interval::middle)
    }

    /// Returns this percentile of the distribution of single runs in `unit`, per run: an interval that
    /// contains the percentile of every pass.
    ///
    /// # Errors
    /// If single runs were not timed, or `unit` is not a unit of time.
    pub fn percentile(&self, place: Percentile, unit: Unit, rate: Rate) -> Testable<Interval> {
        let (runs, clock) = (&self.runs, self.core_per_tick);
        percentile(runs, place, 0, unit, rate, clock, Interval::hull_of)
    }

    /// Returns what `behind` makes of the percentiles of the passes in ticks, widened by a step of the time-stamp
    /// counter on both sides: the time between two stamps may differ from the time of a run by a step.
    ///
    /// # Errors
    /// As [`percentile`](Self::percentile).
    pub(crate) fn percentile_within_step(
        &self,
        place: Percentile,
        unit: Unit,
        rate: Rate,
        behind: impl Fn(&[Interval]) -> Option<Interval>,
    ) -> Testable<Interval> {
        let (runs, clock) = (&self.runs, self.core_per_tick);
        percentile(runs, place, step(runs), unit, rate, clock, behind)
    }

    /// Narrows intervals to `share` of their width, and moves passes to `share` of their distance from
    /// the median, to estimate the effect of further passes.
    pub fn narrow(&mut self, share: f64) {
        self.ticks.interval = self.ticks.interval.narrowed(share);
        let median = self.ticks.median;
        for pass in &mut self.passes {
            let [lo, hi] =
                [pass.interval.lo, pass.interval.hi].map(|of| median + share * (of - median));
            pass.interval = Interval::new(lo, hi);
        }
        let spreads = self.passes.iter().filter_map(|pass| pass.spread);
        if let Some(median) = crate::stats::median_of(spreads) {
            for pass in &mut self.passes {
                pass.spread = pass.spread.map(|of| median + share * (of - median));
            }
        }
        if let Some(of) = &mut self.confidence {
            of.cycles = of.cycles.map(|cycles| cycles.narrowed(share));
            of.width = share;
        }
    }

    /// Returns the time of disturbed samples over that of undisturbed samples, if there were enough of
    /// both.
    pub fn slowed(&self) -> Option<f64> {
        slowed(&self.samples)
    }

    /// Returns the time of the slowest thread over that of the fastest, in a point of one pass on several
    /// threads. Passes that are merged say nothing about it: each ran at its own speed.
    pub(crate) fn spread(&self) -> Option<f64> {
        let stats = self.thread_stats.filter(|_| self.passes.is_empty())?;
        (stats.fastest > 0.0).then(|| stats.slowest / stats.fastest)
    }

    /// Converts ticks to core cycles, by the mean clock of all passes.
    fn cycles(&self, ticks: Interval) -> Option<Interval> {
        Some(ticks.scaled(self.core_per_tick?))
    }

    fn convert(
        &self,
        ticks: Interval,
        cycles: Option<Interval>,
        unit: Unit,
        rate: Rate,
    ) -> Option<Interval> {
        match unit {
            Unit::CoreCycles | Unit::Events => cycles,
            Unit::Nanoseconds => Some(ticks.scaled(1e9 / rate.hz())),
            Unit::GigabytesPerSecond => {
                let bytes = f64::from(self.work.bytes_read + self.work.bytes_written);
                per_nanosecond(bytes, ticks, rate)
            }
            Unit::BytesPerCycle => {
                let bytes = self.work.bytes_read.max(self.work.bytes_written);
                (bytes > 0).then(|| Interval::exact(bytes.into()).ratio(cycles?))?
            }
            Unit::CyclesPerMultiplyAdd => {
                let multiply_adds = self.work.flops as f64 / 2.0;
                (multiply_adds > 0.0).then(|| Some(cycles?.scaled(1.0 / multiply_adds)))?
            }
            Unit::CyclesPerInstruction => {
                let instructions = self.work.instructions as f64;
                (instructions > 0.0).then(|| Some(cycles?.scaled(1.0 / instructions)))?
            }
            Unit::GigaflopsPerSecond => per_nanosecond(self.work.flops as f64, ticks, rate),
            Unit::Percent | Unit::Count => None,
        }
    }
}

/// Returns `amount` per nanosecond, or 10^9 per second, if `amount` takes `ticks`.
fn per_nanosecond(amount: f64, ticks: Interval, rate: Rate) -> Option<Interval> {
    let nanos = ticks.scaled(1e9 / rate.hz());
    if amount == 0.0 {
        return None;
    }
    Interval::exact(amount).ratio(nanos)
}

impl Measured {
    /// Whether an operation took a positive time: on a busy machine the subtracted stretch can be the
    /// longer one.
    pub fn took_time(&self) -> bool {
        self.ticks.interval.middle() > 0.0
    }
}

impl Point {
    /// Returns the measurement, if the point was timed.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.state {
            State::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// Returns the measurement mutably, if the point was timed.
    pub fn measured_mut(&mut self) -> Option<&mut Measured> {
        match &mut self.state {
            State::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// Returns the point with its intervals scaled to `share` of their widths.
    pub fn narrowed(&self, share: f64) -> Self {
        let mut point = self.clone();
        if let Some(measured) = point.measured_mut() {
            measured.narrow(share);
        }
        point
    }

    /// Returns the events counted beside the time.
    pub fn counts(&self) -> &[Count] {
        self.measured().map_or(&[], |measured| &measured.counts)
    }

    /// Returns the value in `unit`. A counted value is returned as it is.
    ///
    /// # Errors
    /// If the point was not testable, or the unit does not apply to it.
    pub fn interval(&self, unit: Unit, rate: Rate) -> Testable<Interval> {
        match &self.state {
            State::Measured(measured) => measured.interval(unit, rate).ok_or_else(|| {
                let (series, x, unit) = (&self.series, self.x, unit.label());
                Untestable(match measured.ticks.interval {
                    Interval { lo, hi } if lo <= 0.0 => format!(
                        "the time of {series} at {x} varies too much: {lo:.0} to {hi:.0} ticks per \
                         operation give no value in {unit}"
                    ),
                    _ => format!("{series} at {x} has no value in {unit}"),
                })
            }),
            State::Counted(value) => Ok(Interval::exact(*value)),
            State::Untestable(reason) => Err(reason.clone()),
        }
    }
}

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles per operation.
    CoreCycles,
    /// Nanoseconds per operation.
    Nanoseconds,
    /// Gigabytes (10^9 bytes) read and written per second.
    GigabytesPerSecond,
    /// Bytes per core cycle that an operation processes. A byte that is copied or updated counts once,
    /// as in the documents; in [`GigabytesPerSecond`](Self::GigabytesPerSecond) it counts twice.
    BytesPerCycle,
    /// Core cycles per multiply-add, which is two floating-point operations.
    CyclesPerMultiplyAdd,
    /// Floating-point operations (10^9) per second.
    GigaflopsPerSecond,
    /// Core cycles per instruction.
    CyclesPerInstruction,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Core cycles per operation, drawn beside events per operation.
    Events,
}

impl Unit {
    /// Whether a value in this unit follows from core cycles, and not from the time.
    const fn counts_cycles(self) -> bool {
        match self {
            Unit::CoreCycles
            | Unit::BytesPerCycle
            | Unit::CyclesPerMultiplyAdd
            | Unit::CyclesPerInstruction
            | Unit::Events => true,
            Unit::Nanoseconds
            | Unit::GigabytesPerSecond
            | Unit::GigaflopsPerSecond
            | Unit::Percent
            | Unit::Count => false,
        }
    }

    /// Returns the unit as an axis shows it.
    pub const fn label(self) -> &'static str {
        match self {
            Unit::CoreCycles => "cycles per operation",
            Unit::Nanoseconds => "ns per operation",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::BytesPerCycle => "bytes per cycle",
            Unit::CyclesPerMultiplyAdd => "cycles per multiply-add",
            Unit::GigaflopsPerSecond => "GFLOP/s",
            Unit::CyclesPerInstruction => "cycles per instruction",
            Unit::Percent => "%",
            Unit::Count => "",
            Unit::Events => "cycles or events per operation",
        }
    }
}
