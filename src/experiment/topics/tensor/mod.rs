//! The tensor series (mmpataki, part 7, and additions from its other parts): arrays of references
//! to arrays compared with one flat array.

pub mod reads;
pub mod tally;

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::reads::TensorSetup;
use crate::experiment::topics::tensor::tally::{Tally, TallySetup};
use crate::kernel::Get;
use crate::pattern::{Allocation, Storage};
use crate::sim::Geometry;
use crate::stats::Interval;

mod access;
mod harness;
mod index;
mod misses;
mod operation;
mod series;
mod simulator;
mod size;

family![tensor];

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[
    access::PATTERN,
    operation::OPERATION,
    size::SIZES,
    misses::PAGES,
    simulator::SIMULATOR,
    misses::MYSTERY,
    index::INDEX,
    access::DEREFERENCES,
    harness::HARNESS,
    series::SERIES,
];

/// The machine of the series.
const MACHINE: &str = "i7-9750H at 2.6 GHz, JDK 24 (2026)";

const NESTED: &str = "nested boxes";
const SHUFFLED: &str = "nested boxes, shuffled";
const VECTORS: &str = "vectors of vectors";
const FLAT: &str = "flat, strides";

const BOXES: TensorSetup = TensorSetup::nested(Storage::Boxes(Allocation::Natural), Get::Boxes);
const UNCHECKED: TensorSetup =
    TensorSetup::nested(Storage::Boxes(Allocation::Natural), Get::BoxesUnchecked);
const OF_VECTORS: TensorSetup =
    TensorSetup::nested(Storage::Vectors(Allocation::Natural), Get::Vectors);
const STRIDES: TensorSetup = TensorSetup::flat(Get::Strides);

/// Boxes that were allocated in random order.
fn shuffled(machine: &Machine) -> TensorSetup {
    let allocation = Allocation::Shuffled { seed: machine.seed };
    TensorSetup::nested(Storage::Boxes(allocation), Get::Boxes)
}

/// A case that counts.
fn tally(series: &str, x: f64, of: TensorSetup, what: Tally) -> Case {
    Case::new(series, x, TallySetup { of, what })
}

/// The first data cache as CPUID describes it, to be simulated.
fn l1d(machine: &Machine) -> Option<Geometry> {
    let cache = machine.data_cache(1)?;
    let ways = u64::from(cache.ways?);
    Geometry::new(cache.size, ways, u64::from(cache.line)).ok()
}

/// The value of a series that has one place.
fn only(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    e.at(series, 0.0)
}

/// The time per read of `of` over that of `to`, which were measured in turn at place 0.
fn in_turn(e: &Evidence<'_>, of: &str, to: &str) -> Result<Interval, Untestable> {
    crate::experiment::claim::paired::paired(e, of, to, Range { lo: 0.0, hi: 0.0 })
}
