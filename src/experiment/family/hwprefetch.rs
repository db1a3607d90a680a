//! Drepper 6.3.1, hardware prefetching: what sets it off, what it follows and where it stops, by
//! timing alone.

mod order;
mod pages;
mod streams;
mod strides;
mod switch;
mod trigger;

use crate::experiment::setup::WalkSetup;
use crate::experiment::{Axis, Evidence, Experiment, Machine, Plot, Shape, Unit, Untestable};
use crate::pattern::{Layout, Order, Path};
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[
    trigger::TRIGGER,
    strides::STRIDES,
    streams::STREAMS,
    pages::PAGES,
    order::BACKWARD,
    order::NON_LINEAR,
    switch::SWITCHED_OFF,
];

const RANDOM: &str = "random";
const LINE_ELEMENT: Layout = Layout::npad(7);

/// A walk of all lines of a working set in memory.
fn lines(machine: &Machine, order: Order) -> WalkSetup {
    WalkSetup::follow(LINE_ELEMENT, machine.in_memory(), order)
}

/// Runs of `elements` lines; a run of one is a random walk.
fn runs(machine: &Machine, elements: usize, path: Path) -> WalkSetup {
    let seed = machine.seed;
    let order = match elements {
        1 => Order::Random { seed },
        _ => Order::Runs {
            elements,
            path,
            seed,
        },
    };
    lines(machine, order)
}

/// Where every claim of this family is to be judged: in memory.
///
/// # Errors
/// If no more may be allocated than fits the caches.
fn in_memory(e: &Evidence<'_>) -> Result<(), Untestable> {
    e.machine.place_in_memory(e.machine.in_memory()).map(|_| ())
}

const fn plot(x: Axis) -> Option<Plot> {
    Some(Plot {
        shape: Shape::Lines,
        x,
        y: Axis::log("time a line"),
        unit: Unit::CoreCycles,
        reference: &[],
    })
}

/// The difference of two intervals.
fn minus(of: Interval, less: Interval) -> Interval {
    Interval::new(of.lo - less.hi, of.hi - less.lo)
}

fn per(whole: Interval, parts: f64) -> Interval {
    Interval::new(whole.lo / parts, whole.hi / parts)
}
