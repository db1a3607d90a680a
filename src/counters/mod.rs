//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod each;
mod place;
mod scope;

pub use crate::pmu::Quantity;
pub use each::{Each, Meter, of_kernel, of_shot};
pub use place::{Named, Place, UnknownName};
pub use scope::{Counters, Counts, MOST, chosen, scope, usual};
