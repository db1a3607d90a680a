//! The measuring protocol: how ticks become a number that carries its doubt.
//!
//! Two protocols. [`steady()`] times a [`Kernel`](crate::kernel::Kernel) for N and for 2N
//! operations and takes the difference, so that everything which happens once (fences, call,
//! loop entry, the last miss) leaves. [`one_shot()`] times single operations, each after a
//! preparation of its own, against an empty stretch. Both go on until the 95 % interval of the
//! median is within the plan's precision, or the plan's budget is spent, and say which.
//!
//! Beside them, [`in_turn()`] compares two kernels, and [`distribution()`] keeps what each single
//! operation took. With the feature `std`, `bench::Bench` does all of it without anything to lend.

#[cfg(hosted)]
mod cold;
mod collect;
mod line;
mod one_shot;
mod paired;
mod plan;
mod sample;
mod steady;
mod whole;

#[cfg(hosted)]
pub(crate) use cold::flush_bytes;
pub use line::FunctionLine;
#[cfg(hosted)]
pub(crate) use one_shot::each_shot;
pub use one_shot::{Shot, distribution, one_shot};
pub use paired::{Paired, in_turn};
pub use plan::Plan;
#[cfg(hosted)]
pub(crate) use sample::slowed;
pub use sample::{Buffers, Ended, Monitor, NoMonitor, Outcome, Sample};
pub use steady::{in_long_stretches, in_stretches, steady};
pub use whole::in_whole;
