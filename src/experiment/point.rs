//! A case after it was measured, and the units in which its value is judged and drawn.

use super::distribution::percentile;
use super::{Count, Distribution, Pass, Percentile, Quality, Testable, ThreadStats, Untestable};
use crate::kernel::Work;
use crate::measure::{Ended, Sample, slowed};
use crate::prelude::*;
use crate::stats::{Interval, Prior, Summary};
use crate::time::Rate;

/// A measured point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The series it belongs to.
    pub series: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// What came of it.
    pub state: State,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It was timed.
    Measured(Box<Measured>),
    /// It was counted, and is exact.
    Counted(f64),
    /// It could not be put to the test.
    Untestable(Untestable),
}

/// A timed point.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Ticks per operation.
    pub ticks: Summary,
    /// Core cycles per tick meanwhile; `None` if the yardstick gave nothing.
    pub core_per_tick: Option<f64>,
    /// Operations by which the stretches of a sample differ.
    pub operations: u64,
    /// What an operation does.
    pub work: Work,
    /// The samples in the order in which they were taken; none in a point of several passes.
    pub samples: Vec<Sample>,
    /// How many of them were disturbed.
    pub disturbed: usize,
    /// How undisturbed it was; of several passes, the one that was the most.
    pub quality: Quality,
    /// Why sampling ended.
    pub ended: Ended,
    /// The pages it really had.
    pub pages: String,
    /// Each pass in ticks, in a point of several.
    pub passes: Vec<Pass>,
    /// What was counted of an operation, in stretches of their own beside the timed ones.
    pub counts: Vec<Count>,
    /// Single runs of each pass, where the case asks for them.
    pub runs: Vec<Distribution>,
    /// Interrupts that the CPU took while the point was sampled, where they were counted.
    pub interrupts: Option<u64>,
    /// The threads, if there were several.
    pub crew: Option<ThreadStats>,
    /// What claims are judged on, besides the interval of the ticks, which is then that of the value
    /// behind the passes; none in a point as it was measured.
    pub confidence: Option<Confidence>,
}

/// What claims are judged on, beside the ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The value in core cycles, each pass by its own clock, if all passes had one.
    pub cycles: Option<Interval>,
    /// Two steady states in ticks, if the passes were in two.
    pub states: Option<[Interval; 2]>,
    /// How ratios of points like this one differ between passes.
    pub ratios: Prior,
    /// The share of intervals that may miss their value.
    pub error: f64,
    /// The share of their width that intervals are supposed to have: 1, but where further passes are
    /// supposed.
    pub width: f64,
}

impl Measured {
    /// Whether the third digit is not to be trusted: passes or samples lie 3 % apart.
    pub fn noisy(&self) -> bool {
        self.ticks.interval.is_noisy()
    }

    /// The interval in `unit`: of the value in a point that claims are judged on, else what the passes
    /// showed. `None` if the unit does not apply: core cycles without a yardstick, bytes of an operation
    /// that moves none, arithmetic that it does not do.
    pub fn interval(&self, unit: Unit, rate: Rate) -> Option<Interval> {
        let ticks = self.ticks.interval;
        let cycles = self.confidence.and_then(|of| of.cycles);
        let cycles = cycles.or_else(|| self.cycles(ticks));
        self.convert(ticks, cycles, unit, rate)
    }

    /// Each pass in `unit`, also if there is but one.
    pub fn passes(&self, unit: Unit, rate: Rate) -> Option<Vec<Pass>> {
        let only = [Pass {
            interval: self.ticks.interval,
            quality: self.quality,
            core_per_tick: self.core_per_tick,
            slowed: self.slowed(),
        }];
        let passes = if self.passes.is_empty() {
            &only
        } else {
            &self.passes[..]
        };
        let convert = |pass: &Pass| {
            let cycles = self.cycles(pass.interval);
            let interval = self.convert(pass.interval, cycles, unit, rate)?;
            Some(Pass { interval, ..*pass })
        };
        passes.iter().map(convert).collect()
    }

    /// The median in `unit`, likewise.
    pub fn median(&self, unit: Unit, rate: Rate) -> Option<f64> {
        let ticks = Interval::exact(self.ticks.median);
        self.convert(ticks, self.cycles(ticks), unit, rate)
            .map(Interval::middle)
    }

    /// What this place in the distribution of single runs comes to in `unit`, for a run: an interval that
    /// holds that of each pass.
    ///
    /// # Errors
    /// If runs were not timed one by one, or the unit is none of time.
    pub fn percentile(&self, place: Percentile, unit: Unit, rate: Rate) -> Testable<Interval> {
        percentile(&self.runs, place, unit, rate, self.core_per_tick)
    }

    /// Supposes that intervals have `share` of their width, and that passes lie by `share` as far from their
    /// median: what further passes would come to.
    pub fn narrow(&mut self, share: f64) {
        self.ticks.interval = self.ticks.interval.narrowed(share);
        let median = self.ticks.median;
        for pass in &mut self.passes {
            let [lo, hi] =
                [pass.interval.lo, pass.interval.hi].map(|of| median + share * (of - median));
            pass.interval = Interval::new(lo, hi);
        }
        if let Some(of) = &mut self.confidence {
            of.cycles = of.cycles.map(|cycles| cycles.narrowed(share));
            of.width = share;
        }
    }

    /// How many times as long disturbed samples took as undisturbed ones, if there were enough of both.
    pub fn slowed(&self) -> Option<f64> {
        slowed(&self.samples)
    }

    /// Ticks in core cycles, by the mean clock of all passes.
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
                amount_a_nano(bytes, ticks, rate)
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
            Unit::GigaflopsPerSecond => amount_a_nano(self.work.flops as f64, ticks, rate),
            Unit::Percent | Unit::Count => None,
        }
    }
}

/// What `amount` in `ticks` is a nanosecond, which is as many 10^9 a second.
fn amount_a_nano(amount: f64, ticks: Interval, rate: Rate) -> Option<Interval> {
    let nanos = ticks.scaled(1e9 / rate.hz());
    if amount == 0.0 {
        return None;
    }
    Interval::exact(amount).ratio(nanos)
}

impl Measured {
    /// Whether an operation took time at all: on a busy machine the stretch that is subtracted can be the longer one.
    pub fn took_time(&self) -> bool {
        self.ticks.interval.middle() > 0.0
    }
}

impl Point {
    /// What was timed, if it was.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.state {
            State::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn measured_mut(&mut self) -> Option<&mut Measured> {
        match &mut self.state {
            State::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// What was counted beside its time.
    pub fn counts(&self) -> &[Count] {
        self.measured().map_or(&[], |measured| &measured.counts)
    }

    /// The value in `unit`: a counted value as it is.
    ///
    /// # Errors
    /// If the point was not testable, or the unit does not apply to it.
    pub fn interval(&self, unit: Unit, rate: Rate) -> Testable<Interval> {
        match &self.state {
            State::Measured(measured) => measured.interval(unit, rate).ok_or_else(|| {
                Untestable(format!(
                    "{} at {} has no value in {}",
                    self.series,
                    self.x,
                    unit.label()
                ))
            }),
            State::Counted(value) => Ok(Interval::exact(*value)),
            State::Untestable(reason) => Err(reason.clone()),
        }
    }
}

/// The unit of a value. Ticks, core cycles and nanoseconds are never mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles per operation.
    CoreCycles,
    /// Nanoseconds per operation.
    Nanoseconds,
    /// Gigabytes (10^9) read and written a second.
    GigabytesPerSecond,
    /// Bytes per core cycle that an operation gets through. A byte that is copied or updated counts
    /// once, as in the documents: [`GigabytesPerSecond`](Self::GigabytesPerSecond) counts it twice.
    BytesPerCycle,
    /// Core cycles per multiply-add, which is two floating-point operations.
    CyclesPerMultiplyAdd,
    /// Floating-point operations (10^9) a second.
    GigaflopsPerSecond,
    /// Core cycles per instruction.
    CyclesPerInstruction,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
    /// Core cycles per operation, beside events that are counted an operation.
    Events,
}

impl Unit {
    /// The unit as an axis shows it.
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
