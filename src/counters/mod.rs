//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod each;
mod place;
mod scope;

pub use crate::pmu::Quantity;
#[doc(hidden)]
pub use each::{Each, Meter, of_kernel, of_shot};
pub use place::{Named, Place, UnknownName};
#[doc(hidden)]
pub use scope::MOST;
pub use scope::{Counters, Counts, chosen, scope, usual};
