//! Closed formulas: what the documents compute, and what a machine's own numbers predict.
//!
//! Nothing here measures. A formula takes its parameters as plain numbers, in whatever unit of time
//! the caller uses, and needs neither an operating system nor an allocator.

mod chain;
mod closed;
mod distance;
mod faster;
mod hyperthread;
mod little;
mod reuse;
mod roof;
mod spread;
mod sum;
#[cfg(any(feature = "std", feature = "experiments"))]
mod walk;

pub use chain::{cycle_of_function, cycle_of_permutation, long_cycles};
pub use closed::closed_cycle;
pub use distance::{step_with_prefetch, steps_ahead};
pub use faster::saved;
pub use hyperthread::{HyperThread, least_hit_rate};
pub use little::in_flight;
pub use reuse::Reuse;
pub use roof::{Bound, Roofs};
pub use spread::Spread;
pub use sum::addition_in_sums;
#[cfg(any(feature = "std", feature = "experiments"))]
pub use walk::{Level, Placement, Translation, Walk};
