//! Several records as one: other machines, other settings, before and after a change.
//!
//! The first record is what the others are held against. Points of the same experiment, series and
//! place are compared as ratios with their intervals; a [`Gate`] turns one into an exit status. Timings of
//! one's own functions are compared in the same way, name by name.

mod difference;
mod effect;
mod functions;
mod gate;
mod json;
mod page;
mod print;
mod side;

pub(crate) use difference::family_of;
pub use difference::{Ahead, Difference, Place, differences};
pub use effect::{Effect, Larger, effects};
pub(crate) use functions::{FunctionGate, NEW, Source, compared};
pub use gate::{Beyond, Failure, Gate, GateError, Outcome};
pub use json::json;
pub use page::render;
pub(crate) use print::Comparison;
pub use print::{failures, judged, table, verdicts};
pub(crate) use side::names_of;
pub use side::{Side, label, load, sides};
