//! The time of accesses: walks that wait for lines, streams that move lines, and operations in flight in
//! the core.

use crate::cpu::{Core, Fact};
use crate::experiment::machine::calibration::{Left, Stream};
use crate::experiment::machine::predict::{Basis, Forecast, Model, Parameters};
use crate::mem::{LINE, PAGE};
use crate::model::Walk;
use crate::pattern::common_divisor;

static RANDOM: Model = Model {
    name: "latencies by what each level finds again",
    basis: Basis::Calibration,
    bar: 0.15,
    leaves_out: "neighbours in a shared cache, and rows of memory that are open already",
};

static IN_ORDER: Model = Model {
    name: "lines in order, at the rate of a stream, or of what a prefetcher leaves of memory's \
           latency",
    basis: Basis::Calibration,
    bar: 0.15,
    leaves_out: "what a prefetcher leaves of the latency of a cache, and how often it begins anew",
};

static STRIDED: Model = Model {
    name: "memory latency that prefetching does not hide: strides up to a quarter page use the \
           value of four lines, longer strides the value of a page",
    basis: Basis::Fitted,
    bar: 0.25,
    leaves_out: "at which stride the core's prefetchers stop: a quarter of a page is where a Zen \
                 4's did",
};

/// A random step that is predicted to take at most this much longer than a hit of L1d, as a fraction, is a
/// hit.
const HIT: f64 = 0.02;

/// Up to this stride, the measured walk to every fourth line stands for all strides; beyond it, the walk
/// to the next page.
const QUARTER_PAGE: usize = PAGE / 4;

/// The elements of a walk: their number, the distance between consecutive elements, and whether the
/// offset in the page rotates.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiment) struct Places {
    /// The number of elements.
    pub count: usize,
    /// Bytes from one element to the next.
    pub stride: usize,
    /// Whether the elements are spread over all sets although they lie a page apart.
    pub rotating: bool,
}

impl Places {
    /// Returns the places of consecutive lines.
    pub const fn lines(count: usize) -> Self {
        Places { count, stride: LINE, rotating: false }
    }

    /// Whether the elements lie in only some of the sets.
    const fn crowded(self) -> bool {
        self.stride > LINE && !self.rotating
    }

    /// Returns the bytes that the levels see: elements larger than a line leave lines between them
    /// untouched.
    fn bytes(self) -> f64 {
        (self.count * self.stride.min(LINE)) as f64
    }
}

/// Shrinks the levels for lines that lie in only some of the sets. The address chooses a set of L1d; the
/// address bits inside the page choose the sets of the other levels.
fn crowded(mut walk: Walk, places: Places, page: usize) -> Walk {
    if !places.crowded() {
        return walk;
    }
    let lines = places.stride / LINE;
    for (index, level) in walk.levels.iter_mut().enumerate() {
        let sets = (level.bytes / level.ways / LINE as f64) as usize;
        let chosen = if index == 0 { sets } else { sets.min(page / LINE) };
        level.bytes /= common_divisor(chosen.max(1), lines) as f64;
    }
    walk
}

/// Predicts the core cycles per step of a random walk, in which `pages` pages are in use at a time.
///
/// The ladder measured this quantity itself for a walk over whole lines to which page walks add little, and
/// for any walk that hits L1d in each step.
pub(in crate::experiment) fn random(
    parameters: &Parameters<'_>,
    places: Places,
    pages: Option<usize>,
) -> Option<Forecast> {
    let mut walk = parameters.latencies()?;
    let translation = walk.translation.take();
    let walk = crowded(walk, places, parameters.page);
    let element = places.stride.min(LINE) as f64;
    let found = walk.step(places.bytes(), element);
    let mut translated = 0.0;
    if translation.is_some() {
        let whole = places.count * places.stride;
        let used = pages.map_or(whole, |pages| whole.min(pages * PAGE));
        translated = Walk { translation, ..walk }.translate(used as f64, places.stride as f64);
    }
    let as_the_ladder = places.stride >= LINE && !places.crowded() && pages.is_none();
    let in_l1 = found + translated <= (1.0 + HIT) * parameters.l1()?;
    Some(Forecast {
        own_quantity: in_l1 || as_the_ladder && translated <= RANDOM.bar * found,
        ..RANDOM.forecast(found + translated)
    })
}

/// Predicts the core cycles per step to the next element, which is written if `stores`.
///
/// A step over more than a line waits for the part of a miss that prefetchers do not hide. It was
/// measured only in memory: such walks in a cache beyond L1d are not predicted. The ladder measured the
/// latency of L1d itself.
pub(in crate::experiment) fn in_order(
    parameters: &Parameters<'_>,
    places: Places,
    stores: bool,
) -> Option<Forecast> {
    let bytes = places.bytes();
    let memory = parameters.machine.ranges.memory;
    let left = |left: Left| parameters.calibration().left(left);
    if places.stride > LINE {
        if bytes <= parameters.machine.ranges.l1.hi && !places.crowded() {
            return Some(Forecast { own_quantity: true, ..IN_ORDER.forecast(parameters.l1()?) });
        }
        let stride = match places.stride {
            ..=QUARTER_PAGE => Left::FourLines,
            _ => Left::Page,
        };
        return memory.holds(bytes).then_some(STRIDED.forecast(left(stride)?));
    }
    let stream = if stores { Stream::Stores } else { Stream::Loads };
    let mut lines = parameters.lines(stream, bytes)?;
    if let Some(waits) = left(Left::NextLine) {
        lines.memory = lines.memory.max(waits);
    }
    let share = places.stride as f64 / LINE as f64;
    let a_line = lines.step(bytes, LINE as f64);
    Some(Forecast {
        own_quantity: bytes <= parameters.machine.ranges.l1.hi,
        ..IN_ORDER.forecast(parameters.l1()?.max(a_line * share))
    })
}

/// The bytes that an operation moves.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::experiment) struct Flow {
    /// Bytes loaded.
    pub loaded: usize,
    /// Bytes stored through the caches, into lines that are not loaded.
    pub stored: usize,
    /// Bytes stored into the lines that are loaded.
    pub updated: usize,
    /// Bytes stored past the caches.
    pub bypassing: usize,
    /// Bytes per access; `None` if one instruction moves all.
    pub width: Option<usize>,
}

/// Predicts the time of an operation that moves the bytes of `flow`, cyclically over `bytes` bytes.
/// Cached accesses and non-temporal stores overlap. Lines that are loaded, and lines that are loaded and
/// written back, share one path, so their times add up.
///
/// The calibration measured this quantity itself for a stream of loads alone or of one kind of stores,
/// unless the ports limit it.
pub(in crate::experiment) fn moved(
    parameters: &Parameters<'_>,
    bytes: usize,
    flow: Flow,
    model: &'static Model,
) -> Option<Forecast> {
    let lines = |stream, moved: usize| {
        if moved == 0 {
            return Some(0.0);
        }
        let a_line = if stream == Stream::NonTemporal {
            parameters.calibration().line(stream, parameters.machine.ranges.memory)?
        } else {
            let bytes = bytes as f64;
            parameters.lines(stream, bytes)?.step(bytes, LINE as f64)
        };
        Some(a_line * moved as f64 / LINE as f64)
    };
    let loaded = lines(Stream::Loads, flow.loaded)?;
    let stored = lines(Stream::Stores, flow.stored + flow.updated)?;
    let through = loaded + stored;
    let past = lines(Stream::NonTemporal, flow.bypassing)?;
    let lines = through.max(past);
    let mut cycles = lines;
    if let Some(ports) = parameters.machine.ports {
        // A string instruction is assumed to use the widest accesses.
        let width = flow.width.unwrap_or(64);
        let roof = |moved: usize, a_cycle: Option<u32>| {
            let a_cycle = f64::from(a_cycle?);
            (a_cycle > 0.0).then(|| moved as f64 / a_cycle)
        };
        let in_all = flow.stored + flow.updated + flow.bypassing;
        for (moved, a_cycle) in
            [(flow.loaded + flow.updated, ports.read(width)), (in_all, ports.write(width))]
        {
            cycles = cycles.max(roof(moved, a_cycle).unwrap_or(0.0));
        }
    }
    let kinds = [flow.loaded, flow.stored, flow.updated, flow.bypassing];
    let one_kind = kinds.iter().filter(|&&bytes| bytes > 0).count() == 1;
    (cycles > 0.0).then_some(Forecast {
        cycles,
        model,
        own_quantity: one_kind && flow.updated == 0 && cycles <= lines,
    })
}

/// Returns a published number of the machine's core.
fn published(parameters: &Parameters<'_>, fact: impl Fn(&Core) -> Fact<u32>) -> Option<u32> {
    fact(parameters.calibration().core()?).value()
}

/// Returns the size of the core's reorder buffer in operations, if published.
pub(in crate::experiment) fn window(parameters: &Parameters<'_>) -> Option<f64> {
    published(parameters, |core| core.reorder_buffer).map(f64::from)
}

/// Returns how many of `wanted` misses are in flight at once. Returns `None` if that depends on an
/// unpublished number.
pub(in crate::experiment) fn in_flight(parameters: &Parameters<'_>, wanted: usize) -> Option<f64> {
    /// Every core since Core 2 has this many.
    const ANY: usize = 8;
    match published(parameters, |core| core.outstanding_misses) {
        Some(most) => Some(wanted.min(most as usize) as f64),
        None => (wanted <= ANY).then_some(wanted as f64),
    }
}
