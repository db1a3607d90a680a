//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod place;
mod scope;

#[doc(hidden)]
pub use crate::host::{Each, Meter, of_kernel, of_shot};
pub use crate::pmu::Quantity;
pub use place::{Named, Place, UnknownName};
#[doc(hidden)]
pub use scope::MOST;
pub use scope::{Counters, Counts, chosen, scope, usual};
