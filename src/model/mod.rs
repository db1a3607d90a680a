//! Closed formulas: the computations of the documents, and predictions from a machine's own numbers.
//!
//! Nothing here measures. A formula takes its parameters as plain numbers, in any unit of time, and
//! needs neither an operating system nor an allocator.

mod caches;
mod chain;
mod limits;
#[cfg(any(feature = "std", feature = "experiments"))]
mod walk;

pub use caches::{HyperThread, Reuse, Spread, least_hit_rate};
pub use chain::{cycle_of_function, long_cycles};
pub use limits::{
    addition_in_sums, closed_cycle, in_flight, saved, step_with_prefetch, steps_ahead,
};
#[cfg(any(feature = "std", feature = "experiments"))]
pub use walk::{Level, Placement, Translation, Walk};
