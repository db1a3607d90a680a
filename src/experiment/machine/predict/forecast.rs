//! A predicted time, the model behind it, and the parameters that models have.

use crate::experiment::machine::calibration::{Calibration, Stream};
use crate::experiment::{Machine, Measured, Range};
use crate::mem::{LINE, PAGE};
use crate::model::{Level, Placement, Translation, Walk};
use crate::prelude::*;
use crate::stats::median;

/// Where the numbers of a model come from: the weakest of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// CPUID, and points that every run measures before any experiment.
    Calibration,
    /// Besides, a value that is published of the core.
    Published,
    /// Besides, a constant that was chosen to match measured curves of some core.
    Fitted,
}

impl Basis {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Calibration => "from calibration",
            Basis::Published => "from published values",
            Basis::Fitted => "fitted",
        }
    }
}

/// How times are predicted.
#[derive(Debug, PartialEq)]
pub struct Model {
    /// What it goes by, for a reader of a table.
    pub name: &'static str,
    /// Where its numbers come from.
    pub basis: Basis,
    /// The median error up to which a prediction counts as good.
    pub bar: f64,
    /// What it leaves out, to be said where it is wrong: a sentence's end.
    pub leaves_out: &'static str,
}

/// A predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Core cycles per operation.
    pub cycles: f64,
    /// The model that says so.
    pub model: &'static Model,
    /// Whether the calibration measured this very quantity, so that the prediction is no test of the
    /// model.
    pub own_quantity: bool,
}

impl Model {
    /// A time that follows from other quantities than the predicted one.
    pub(in crate::experiment) fn forecast(&'static self, cycles: f64) -> Forecast {
        Forecast {
            cycles,
            model: self,
            own_quantity: false,
        }
    }
}

impl Forecast {
    /// The same of work that takes at least so many cycles, whatever it waits for.
    pub(in crate::experiment) fn at_least(self, cycles: f64) -> Self {
        if cycles <= self.cycles {
            return self;
        }
        self.model.forecast(cycles)
    }

    /// What `model` makes of this time: of the same quantity still, if hardly anything.
    pub(in crate::experiment) fn then(self, cycles: f64, model: &'static Model) -> Self {
        let same = (cycles / self.cycles - 1.0).abs() <= self.model.bar;
        Forecast {
            own_quantity: self.own_quantity && same,
            ..model.forecast(cycles)
        }
    }
}

/// A machine's parameters, for a point in pages of one size.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Bytes of a page.
    pub page: usize,
    /// Core cycles of a line's way between the point's own threads, if it has several.
    apart: Option<f64>,
}

/// Between levels, where a rung counts as of the one alone: a quarter of an octave from either end.
const BEYOND: f64 = 1.19;

/// A cache that holds less than its size by this factor is one of which we have a share.
const SHARED: f64 = 1.5;

impl<'a> Parameters<'a> {
    /// Those of `machine` as they were when a point was measured: in pages as it names them, and
    /// with threads as far apart as its own were.
    pub fn at(machine: &'a Machine, measured: &Measured) -> Self {
        let page = match measured.pages.as_str() {
            pages if pages.starts_with("2 MiB") => 2 << 20,
            pages if pages.starts_with("1 GiB") => 1 << 30,
            _ => PAGE,
        };
        let ticks = measured.crew.and_then(|crew| crew.round_trip);
        Parameters {
            machine,
            page,
            apart: ticks.map(|ticks| ticks * measured.core_per_tick.unwrap_or(1.0)),
        }
    }

    pub(crate) fn calibration(&self) -> &'a Calibration {
        &self.machine.calibration
    }

    /// Core cycles of a load that finds its line in L1d.
    pub(in crate::experiment) fn l1(&self) -> Option<f64> {
        self.latency(self.machine.ranges.l1)
    }

    /// Core cycles of a load from memory.
    pub(in crate::experiment) fn memory(&self) -> Option<f64> {
        self.latency(self.machine.ranges.memory)
    }

    /// Core cycles of a line's way to another core and back: to that of the point's second thread,
    /// as far as it was at the time, or to the nearest.
    pub(in crate::experiment) fn round_trip(&self) -> Option<f64> {
        self.apart.or(self.calibration().round_trip())
    }

    /// Core cycles of a floating-point addition that waits for the one before.
    pub(in crate::experiment) fn float_addition(&self) -> Option<f64> {
        self.calibration().float_addition()
    }

    /// The ladder's cost in a range.
    fn latency(&self, range: Range) -> Option<f64> {
        let rungs = self.machine.ladder.iter();
        let inside = rungs.filter(|rung| range.holds(rung.working_set));
        let mut costs: Vec<f64> = inside.map(|rung| rung.cost.middle()).collect();
        costs.sort_by(f64::total_cmp);
        median(&costs)
    }

    /// The ladder's cost around a range that is empty, because a level is less than four times as
    /// large as the one before it: that of the rungs that are larger than the one and smaller than the
    /// other. A range's ends are twice the one and half the other.
    fn latency_near(&self, range: Range) -> Option<f64> {
        self.latency(Range {
            lo: range.lo / 2.0 * BEYOND,
            hi: range.hi * 2.0 / BEYOND,
        })
    }

    /// The levels, and what a load costs that waits for its line from each.
    pub(crate) fn latencies(&self) -> Option<Walk> {
        let walk = self.levels(|range| self.latency(range).or_else(|| self.latency_near(range)))?;
        Some(Walk {
            translation: self.translation(),
            ..walk
        })
    }

    /// The levels, and what a line costs from each in a stream of a working set. L1d is where the
    /// lines go; beyond L2 the working set itself decides.
    pub(crate) fn lines(&self, stream: Stream, bytes: f64) -> Option<Walk> {
        let ranges = &self.machine.ranges;
        self.levels(|range| match range {
            _ if range == ranges.l1 => Some(0.0),
            _ if range == ranges.l2 => self.calibration().line(stream, range),
            _ => self.calibration().line_beyond(stream, ranges.l2.hi, bytes),
        })
    }

    /// The caches at the cost that each range of working sets has, without TLBs. A level that has no
    /// range to itself, and no cost, is left out. `None` where another cost is not known.
    fn levels(&self, cost: impl Fn(Range) -> Option<f64>) -> Option<Walk> {
        let ranges = &self.machine.ranges;
        let level = |index: usize, range, placement| {
            let reported = self.machine.data_cache(index as u8 + 1);
            let ways = reported.and_then(|cache| cache.ways).unwrap_or(16);
            let capacity = ranges.capacities.get(index)?;
            // Where CPUID tells and the ladder agrees, the size is exact; a share is as measured.
            let bytes = match (capacity.reported, capacity.measured) {
                (Some(reported), Some(measured)) if measured * SHARED >= reported => reported,
                _ => capacity.usable(),
            };
            Some(Level {
                bytes,
                ways: f64::from(ways),
                placement,
                cost: cost(range)?,
            })
        };
        let mut levels = vec![level(0, ranges.l1, Placement::Even)?];
        let behind = [
            (1, ranges.l2, Placement::ByChance),
            (2, ranges.llc, Placement::Hashed),
        ];
        for (index, range, placement) in behind {
            match level(index, range, placement) {
                Some(level) => levels.push(level),
                None if range.lo >= range.hi => {}
                None => return None,
            }
        }
        Some(Walk {
            levels,
            memory: cost(ranges.memory)?,
            line: LINE as f64,
            translation: None,
        })
    }

    /// The TLBs, if CPUID tells both and what the second costs was measured. What a page walk costs
    /// follows from the latencies: its loads find the tables in the caches, or do not.
    fn translation(&self) -> Option<Translation> {
        let known = self.calibration();
        let second = known.page_step()? - self.l1()?;
        let page = self.page as u64;
        let tlb = |level: u8, cost: f64| {
            let tlb = known.tlb(level, page)?;
            Some(Level {
                bytes: f64::from(tlb.entries) * self.page as f64,
                ways: f64::from(tlb.ways.unwrap_or(tlb.entries)),
                placement: Placement::Even,
                cost,
            })
        };
        Some(Translation {
            page: self.page as f64,
            tlbs: vec![tlb(1, 0.0)?, tlb(2, second.max(0.0))?],
            loads: known.table_loads(),
        })
    }
}
