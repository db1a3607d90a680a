//! The only clock: fenced TSC ticks, their rate, and the core-cycle yardstick.
//!
//! Three units are kept apart everywhere: *ticks* of the time-stamp counter, which runs at a
//! constant rate; *nanoseconds*, which are ticks divided by that rate; and *core cycles*, which
//! follow the clock the core really runs at and come from the [`yardstick`].

mod rate;
mod share;
mod tick;
pub mod yardstick;

pub use rate::{Rate, RateError};
pub use share::SmtContention;
pub use tick::{start, stop};
