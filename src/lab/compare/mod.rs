//! Several records as one: other machines, other settings, before and after a change.
//!
//! The first record is what the others are held against. Points of the same experiment, series and
//! place are compared as ratios with their intervals; a [`Gate`] turns one into an exit status.

mod difference;
mod effect;
mod gate;
mod json;
mod page;
mod print;
mod side;

pub use difference::{Ahead, Difference, Place, differences};
pub use effect::{Effect, Larger, effects};
pub use gate::{Beyond, Failure, Gate, GateError, Outcome};
pub use json::json;
pub use page::render;
pub(crate) use print::Comparison;
pub use print::{failures, judged, table, verdicts};
pub use side::{Side, label, load, sides};
