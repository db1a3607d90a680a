//! The parameters of predictions besides the ladder: the rates at which each level delivers and takes
//! lines, the part of memory's latency that prefetchers do not hide, the cost of a page beyond the first
//! TLB, a line's round trip to another core, a floating-point addition, and the arithmetic of a batch of
//! orders.
//!
//! Every run measures these points once, together with the ladder and under its name. They are
//! parameters: an experiment's point with the same set-up does not test a prediction.

use crate::cpu::Core;
use crate::experiment::{Machine, Measured, Point, Range, Unit};
use crate::kernel::{BLOCK, Motion};
use crate::mem::{LINE, PAGE};
use crate::pattern::{Arrangement, Order};
use crate::prelude::*;

/// The accesses of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Loads of lines.
    Loads,
    /// Stores to lines, which are read and written back.
    Stores,
    /// Stores to lines past the caches.
    NonTemporal,
}

impl Stream {
    /// All streams.
    pub const ALL: [Stream; 3] = [Stream::Loads, Stream::Stores, Stream::NonTemporal];

    /// Returns the series of the stream's points.
    pub const fn series(self) -> &'static str {
        match self {
            Stream::Loads => "stream of loads",
            Stream::Stores => "stream of stores",
            Stream::NonTemporal => "stream of non-temporal stores",
        }
    }

    pub(in crate::experiment) const fn motion(self) -> Motion {
        match self {
            Stream::Loads => Motion::Read,
            Stream::Stores => Motion::Write,
            Stream::NonTemporal => Motion::WriteNonTemporal,
        }
    }
}

/// Walks in memory whose next address a prefetcher can predict: the latency that prefetchers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// To the next line.
    NextLine,
    /// To every fourth line: inside the window of 512 bytes that the paper names.
    FourLines,
    /// To the same line of the next page.
    Page,
}

impl Left {
    /// All walks.
    pub const ALL: [Left; 3] = [Left::NextLine, Left::FourLines, Left::Page];

    /// Returns the series of the walk's point.
    pub const fn series(self) -> &'static str {
        match self {
            Left::NextLine => "a walk in memory to the next line",
            Left::FourLines => "a walk in memory to every fourth line",
            Left::Page => "a walk in memory to the next page",
        }
    }

    /// Returns the order in which all lines are visited.
    pub(in crate::experiment) const fn order(self) -> Order {
        match self {
            Left::NextLine => Order::Sequential,
            Left::FourLines => Order::Strided { elements: 4 },
            Left::Page => Order::Strided { elements: PAGE / LINE },
        }
    }
}

/// The series of the walk to another page in each step.
pub(in crate::experiment) const PAGES: &str = "a walk in order, one line per page";

/// The series of the round trip of a line to another core and back.
pub const ROUND_TRIP: &str = "a line to the nearest core and back, by lock cmpxchg";

/// The series of the dependent floating-point addition.
pub(in crate::experiment) const FLOAT_ADDITION: &str =
    "a floating-point addition that waits for the one before";

/// The series of the arithmetic of a batch of orders, and the layout of the orders.
pub(in crate::experiment) const ORDERS: [(&str, Arrangement); 2] = [
    ("a batch of orders in L1d", Arrangement::Split),
    ("a batch of orders in L1d, by vectors", Arrangement::Apart),
];

/// A TLB of loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The level; 1 is nearest to the core.
    pub level: u8,
    /// Bytes of the page sizes that it holds.
    pub pages: Vec<u64>,
    /// The number of entries.
    pub entries: u32,
    /// The number of ways, if known.
    pub ways: Option<u32>,
}

/// The parameters of predictions besides the ladder. Empty if read from a record without them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// The stream, its working set in bytes, and its core cycles per line.
    streams: Vec<(Stream, f64, f64)>,
    /// Core cycles per step to another page whose translation is in the second-level TLB.
    page_step: Option<f64>,
    /// Core cycles of a line's round trip to the nearest core.
    round_trip: Option<f64>,
    /// Core cycles per step of each predictable walk.
    left: Vec<(Left, f64)>,
    /// Core cycles per dependent floating-point addition.
    float_addition: Option<f64>,
    /// Core cycles of the arithmetic of a batch of orders: scalar, and by vectors.
    orders: [Option<f64>; 2],
    tlbs: Vec<Reach>,
    guest: bool,
    core: Option<&'static Core>,
}

impl Calibration {
    /// Returns what is known before anything is measured: the TLBs of loads as CPUID reports them,
    /// whether a hypervisor's tables translate addresses a second time, and the core.
    pub fn known(tlbs: Vec<Reach>, guest: bool, core: Option<&'static Core>) -> Self {
        Calibration { tlbs, guest, core, ..Calibration::default() }
    }

    /// Returns the TLB of `level` that translates loads from pages of `page` bytes.
    pub fn tlb(&self, level: u8, page: u64) -> Option<&Reach> {
        let mut tlbs = self.tlbs.iter();
        tlbs.find(|tlb| tlb.level == level && tlb.pages.contains(&page))
    }

    /// Returns the bytes that the entries of the L1 dTLB cover with 4 KiB pages. A published number of
    /// entries comes first, because CPUID may report fewer: Golden Cove reports 64 and has 96.
    pub(crate) fn dtlb_reach(&self) -> Option<usize> {
        let published = || self.core()?.dtlb_entries();
        let reported = || Some(self.tlb(1, PAGE as u64)?.entries);
        Some(published().or_else(reported)? as usize * PAGE)
    }

    /// Returns the loads of table entries that a page walk waits for. A guest's walks load from both
    /// tables.
    pub fn table_loads(&self) -> f64 {
        if self.guest { 2.0 } else { 1.0 }
    }

    /// Whether this is a virtual machine. Its last level may be shared with other guests, and its host
    /// chooses what is reported about processors and caches.
    pub fn is_guest(&self) -> bool {
        self.guest
    }

    /// Returns the core, if known.
    pub fn core(&self) -> Option<&'static Core> {
        self.core
    }

    /// Adds the values that these points measured. Ignores other points of the ladder.
    pub fn with(mut self, points: &[Point], machine: &Machine) -> Self {
        for point in points {
            let Some(measured) = point.measured().filter(|of| of.took_time()) else { continue };
            let cycles = cycles(measured, machine);
            match point.series.as_str() {
                PAGES => self.page_step = Some(cycles),
                ROUND_TRIP => self.round_trip = Some(cycles),
                FLOAT_ADDITION => self.float_addition = Some(cycles),
                series => {
                    let left = Left::ALL.into_iter().find(|of| of.series() == series);
                    self.left.extend(left.map(|left| (left, cycles)));
                    if let Some(way) = ORDERS.iter().position(|(of, _)| *of == series) {
                        self.orders[way] = Some(cycles);
                    }
                    let stream = Stream::ALL.into_iter().find(|of| of.series() == series);
                    let lines = (BLOCK / LINE) as f64;
                    let row = stream.map(|stream| (stream, point.x, cycles / lines));
                    self.streams.extend(row);
                }
            }
        }
        self
    }

    /// Returns the core cycles per line of a stream in a range of working sets, if measured there.
    pub fn line(&self, stream: Stream, range: Range) -> Option<f64> {
        let mut rows = self.streams.iter();
        let row = rows.find(|(of, at, _)| *of == stream && range.holds(*at))?;
        Some(row.2)
    }

    /// Returns the core cycles per line of a stream whose working set of `bytes` bytes exceeds `cache`
    /// bytes. Interpolates on logarithmic scales between the two nearest measured working sets.
    pub fn line_beyond(&self, stream: Stream, cache: f64, bytes: f64) -> Option<f64> {
        let of = |row: &&(Stream, f64, f64)| row.0 == stream && row.1 > cache;
        let rows = || self.streams.iter().filter(of);
        let below = rows().filter(|row| row.1 <= bytes);
        let below = below.max_by(|one, other| one.1.total_cmp(&other.1));
        let above = rows().filter(|row| row.1 > bytes);
        let above = above.min_by(|one, other| one.1.total_cmp(&other.1));
        match (below, above) {
            (Some(&(_, lo, near)), Some(&(_, hi, far))) => {
                let share = (bytes / lo).ln() / (hi / lo).ln();
                Some(near * (far / near).powf(share))
            }
            (one, other) => Some(one.or(other)?.2),
        }
    }

    /// Returns the core cycles per step to another page that the second-level TLB translates.
    pub fn page_step(&self) -> Option<f64> {
        self.page_step
    }

    /// Returns the core cycles of a line's round trip to the nearest core.
    pub fn round_trip(&self) -> Option<f64> {
        self.round_trip
    }

    /// Returns the core cycles per step of a walk in memory that prefetchers predict.
    pub fn left(&self, left: Left) -> Option<f64> {
        let mut rows = self.left.iter();
        rows.find(|(of, _)| *of == left).map(|(_, cycles)| *cycles)
    }

    /// Returns the core cycles per dependent floating-point addition.
    pub fn float_addition(&self) -> Option<f64> {
        self.float_addition
    }

    /// Returns the core cycles of the arithmetic of a batch of orders.
    pub(crate) fn orders(&self, vectors: bool) -> Option<f64> {
        self.orders[usize::from(vectors)]
    }
}

/// Returns the middle of the interval in core cycles, or in ticks without a yardstick, as in the ladder.
pub(crate) fn cycles(measured: &Measured, machine: &Machine) -> f64 {
    let cycles = measured.interval(Unit::CoreCycles, machine.rate);
    cycles.unwrap_or(measured.ticks.interval).middle()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_costs_what_it_does_between_the_working_sets_around() {
        let known = Calibration {
            streams: vec![
                (Stream::Loads, 1e5, 15.0),
                (Stream::Loads, 1e6, 20.0),
                (Stream::Stores, 2e6, 1000.0),
                (Stream::Loads, 1e8, 80.0),
            ],
            ..Calibration::default()
        };
        let line = |bytes| known.line_beyond(Stream::Loads, 5e5, bytes).unwrap();
        assert_eq!((line(1e6), line(1e8)), (20.0, 80.0));
        // Halfway on both logarithmic scales.
        assert!((line(1e7) - 40.0).abs() < 1e-9);
        assert_eq!((line(1e3), line(1e12)), (20.0, 80.0));
        assert_eq!(known.line_beyond(Stream::NonTemporal, 0.0, 1e6), None);
        assert_eq!(known.line_beyond(Stream::Loads, 1e9, 1e6), None);
    }
}
