//! The measuring protocol: converts ticks to a number with its uncertainty.
//!
//! There are two protocols. [`steady()`] times a [`Kernel`](crate::kernel::Kernel) for N and for 2N
//! operations and takes the difference, so that costs that occur once (fences, call, loop entry, the
//! last miss) cancel. [`one_shot()`] times single operations, each after its own preparation, against an
//! empty stretch. Both continue until the 95 % interval of the median is within the plan's precision, or
//! until the plan's budget is spent, and report which.
//!
//! [`in_turn()`] compares two kernels, and [`distribution()`] records the time of each single operation.
//! With the feature `std`, `bench::Bench` does all of this without buffers to lend.

mod collect;
mod one_shot;
mod sample;
mod steady;

#[cfg(hosted)]
pub(crate) use one_shot::each_shot;
pub use one_shot::{Shot, distribution, one_shot};
pub use sample::{Buffers, Ended, FunctionLine, Monitor, NoMonitor, Outcome, Plan, Sample};
#[cfg(hosted)]
pub(crate) use sample::{Counted, slowed};
pub use steady::{Paired, in_long_stretches, in_stretches, in_turn, in_whole, steady};
