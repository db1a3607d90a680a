//! Drepper 6.3.1, hardware prefetching: what triggers it, what it follows and where it stops, by
//! timing alone.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::host::Guard;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Path};
use crate::stats::Interval;

mod order;
mod pages;
mod streams;
mod strides;
mod switch;
mod trigger;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[
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

/// Every claim of this family is judged in memory.
///
/// # Errors
/// If the caches hold as much as may be allocated.
fn in_memory(e: &Evidence<'_>) -> Result<(), Untestable> {
    e.machine.place_in_memory(e.machine.in_memory()).map(|_| ())
}

const fn plot(x: Axis) -> Option<Plot> {
    Some(Plot::lines(x, Axis::log("time per line"), Unit::CoreCycles))
}

/// The difference of two intervals.
fn minus(of: Interval, less: Interval) -> Interval {
    Interval::new(of.lo - less.hi, of.hi - less.lo)
}

fn per(whole: Interval, parts: f64) -> Interval {
    Interval::new(whole.lo / parts, whole.hi / parts)
}

/// A walk during which the prefetchers of its CPU are off, if this process may switch them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwitchedOffSetup {
    /// The walk.
    pub walk: WalkSetup,
}

impl Setup for SwitchedOffSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        // First, because it fails on most machines, and laying out the walk takes long.
        let ready = context.host.prefetchers()?;
        let (kernel, period) = self.walk.prepare(region, context)?.kernel()?;
        let off = ready.switch_off()?;
        let kernel = Box::new(WhileOff { kernel, _off: off });
        Ok(Workload::Steady {
            kernel,
            period,
            beside: None,
        })
    }
}

/// A kernel, and the switch that is put back when it is done.
struct WhileOff<'m> {
    kernel: Box<dyn Kernel + 'm>,
    _off: Box<dyn Guard>,
}

impl Kernel for WhileOff<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.kernel.run(operations)
    }

    fn work(&self) -> Work {
        self.kernel.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.kernel.trace(operations, sink)
    }
}
