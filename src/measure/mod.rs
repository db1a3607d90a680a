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
mod one_shot;
mod sample;
mod steady;

#[cfg(hosted)]
pub(crate) use cold::flush_bytes;
#[cfg(hosted)]
pub(crate) use one_shot::each_shot;
pub use one_shot::{Shot, distribution, one_shot};
#[cfg(hosted)]
pub(crate) use sample::slowed;
pub use sample::{Buffers, Ended, FunctionLine, Monitor, NoMonitor, Outcome, Plan, Sample};
pub use steady::{Paired, in_long_stretches, in_stretches, in_turn, in_whole, steady};
