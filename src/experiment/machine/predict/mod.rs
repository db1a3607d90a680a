//! A predicted time, the model behind it, and the parameters of models.
//! The models of accesses are in [`memory`].

mod memory;

pub(in crate::experiment) use crate::experiment::machine::predict::memory::{
    Flow, Places, in_flight, in_order, moved, random, window,
};

use crate::experiment::machine::calibration::{Calibration, Stream};
use crate::experiment::{Machine, Measured, Range};
use crate::mem::{LINE, PAGE};
use crate::model::{Level, Placement, Translation, Walk};
use crate::stats::median_of;

/// The source of a model's numbers: the weakest of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// CPUID, and points that every run measures before any experiment.
    Calibration,
    /// Also a value that is published for the core.
    Published,
    /// Also a constant that was chosen to match measured curves of some core.
    Fitted,
}

impl Basis {
    /// Returns the basis in words.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Calibration => "from calibration",
            Basis::Published => "from published values",
            Basis::Fitted => "fitted",
        }
    }
}

/// A model that predicts times.
#[derive(Debug, PartialEq)]
pub struct Model {
    /// A description of the model for readers of a table.
    pub name: &'static str,
    /// The source of its numbers.
    pub basis: Basis,
    /// The median error up to which a prediction counts as good.
    pub bar: f64,
    /// What the model leaves out, shown where it is wrong. It completes a sentence.
    pub leaves_out: &'static str,
}

/// A predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Core cycles per operation.
    pub cycles: f64,
    /// The model that predicts the time.
    pub model: &'static Model,
    /// Whether the calibration measured this quantity itself, so that the prediction does not test the
    /// model.
    pub own_quantity: bool,
}

impl Model {
    /// Returns a forecast of a time that follows from other quantities than the predicted one.
    pub(in crate::experiment) fn forecast(&'static self, cycles: f64) -> Forecast {
        Forecast { cycles, model: self, own_quantity: false }
    }
}

impl Forecast {
    /// Raises the forecast to `cycles`, for work that takes at least this long whatever it waits for.
    pub(in crate::experiment) fn at_least(self, cycles: f64) -> Self {
        if cycles <= self.cycles {
            return self;
        }
        self.model.forecast(cycles)
    }

    /// Replaces the forecast by `cycles`, as adjusted by `model`. The quantity counts as the same if the
    /// time changes by at most `model.bar`.
    pub(in crate::experiment) fn then(self, cycles: f64, model: &'static Model) -> Self {
        let same = (cycles / self.cycles - 1.0).abs() <= self.model.bar;
        Forecast { own_quantity: self.own_quantity && same, ..model.forecast(cycles) }
    }
}

/// A machine's parameters, for a point in pages of one size.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Bytes of a page.
    pub page: usize,
    /// Core cycles of a line's round trip between the point's own threads, if there are several.
    apart: Option<f64>,
}

/// Between levels, the distance at which a rung belongs to one level alone: a quarter of an octave.
const BEYOND: f64 = 1.19;

/// A cache whose measured size is less than the reported size by more than this factor is partly
/// available.
const SHARED: f64 = 1.5;

impl<'a> Parameters<'a> {
    /// Returns the parameters of `machine` for a measured point: with the pages that the point had, and
    /// the round trip between its threads.
    pub fn at(machine: &'a Machine, measured: &Measured) -> Self {
        let page = match measured.pages.as_str() {
            pages if pages.starts_with("2 MiB") => 2 << 20,
            pages if pages.starts_with("1 GiB") => 1 << 30,
            _ => PAGE,
        };
        let ticks = measured.thread_stats.and_then(|stats| stats.round_trip);
        Parameters {
            machine,
            page,
            apart: ticks.map(|ticks| ticks * measured.core_per_tick.unwrap_or(1.0)),
        }
    }

    pub(crate) fn calibration(&self) -> &'a Calibration {
        &self.machine.calibration
    }

    /// Returns the core cycles of a load that hits L1d.
    pub(in crate::experiment) fn l1(&self) -> Option<f64> {
        self.latency(self.machine.ranges.l1)
    }

    /// Returns the core cycles of a load from memory.
    pub(in crate::experiment) fn memory(&self) -> Option<f64> {
        self.latency(self.machine.ranges.memory)
    }

    /// Returns the core cycles of a line's round trip to another core: to the core of the point's second
    /// thread, as measured with the point, or else to the nearest core.
    pub(in crate::experiment) fn round_trip(&self) -> Option<f64> {
        self.apart.or(self.calibration().round_trip())
    }

    /// Returns the core cycles of a dependent floating-point addition.
    pub(in crate::experiment) fn float_addition(&self) -> Option<f64> {
        self.calibration().float_addition()
    }

    /// Returns the ladder's cost in a range.
    fn latency(&self, range: Range) -> Option<f64> {
        let rungs = self.machine.ladder.iter();
        let inside = rungs.filter(|rung| range.holds(rung.working_set));
        median_of(inside.map(|rung| rung.cost.middle()))
    }

    /// Returns the ladder's cost around a range that is empty, because a level is less than four times
    /// as large as the level before it. Uses the rungs that are larger than the level before and smaller
    /// than the level. The ends of a range are twice the size of the level before, and half the size of
    /// the level.
    fn latency_near(&self, range: Range) -> Option<f64> {
        self.latency(Range { lo: range.lo / 2.0 * BEYOND, hi: range.hi * 2.0 / BEYOND })
    }

    /// Returns the levels, with the cost of a load that waits for its line from each.
    pub(crate) fn latencies(&self) -> Option<Walk> {
        let walk = self.levels(|range| self.latency(range).or_else(|| self.latency_near(range)))?;
        Some(Walk { translation: self.translation(), ..walk })
    }

    /// Returns the levels, with the cost of a line from each in a stream over a working set of `bytes`
    /// bytes. L1d costs nothing, because lines go there; beyond L2 the working set determines the cost.
    pub(crate) fn lines(&self, stream: Stream, bytes: f64) -> Option<Walk> {
        let ranges = &self.machine.ranges;
        self.levels(|range| match range {
            _ if range == ranges.l1 => Some(0.0),
            _ if range == ranges.l2 => self.calibration().line(stream, range),
            _ => self.calibration().line_beyond(stream, ranges.l2.hi, bytes),
        })
    }

    /// Returns the caches, with the cost of each range of working sets, without TLBs. Leaves out a level
    /// with an empty range and no cost. Returns `None` if another cost is unknown.
    fn levels(&self, cost: impl Fn(Range) -> Option<f64>) -> Option<Walk> {
        let ranges = &self.machine.ranges;
        let level = |index: usize, range, placement| {
            let reported = self.machine.data_cache(index as u8 + 1);
            let ways = reported.and_then(|cache| cache.ways).unwrap_or(16);
            let capacity = ranges.capacities.get(index)?;
            // Where CPUID and the ladder agree, the reported size is exact. Otherwise the usable size
            // counts.
            let bytes = match (capacity.reported, capacity.measured) {
                (Some(reported), Some(measured)) if measured * SHARED >= reported => reported,
                _ => capacity.usable(),
            };
            Some(Level { bytes, ways: f64::from(ways), placement, cost: cost(range)? })
        };
        let mut levels = vec![level(0, ranges.l1, Placement::Even)?];
        let behind = [(1, ranges.l2, Placement::ByChance), (2, ranges.llc, Placement::Hashed)];
        for (index, range, placement) in behind {
            match level(index, range, placement) {
                Some(level) => levels.push(level),
                None if range.lo >= range.hi => {}
                None => return None,
            }
        }
        Some(Walk { levels, memory: cost(ranges.memory)?, line: LINE as f64, translation: None })
    }

    /// Returns the TLBs, if CPUID reports both and the cost of the second was measured. The cost of a
    /// page walk follows from the latencies of the levels in which its loads find the tables.
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
