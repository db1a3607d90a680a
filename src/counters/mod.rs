//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod each;
mod meaning;
mod place;
mod quantity;
mod scope;

pub use each::{Each, Meter, of_kernel, of_shot};
pub use place::{Named, Place, UnknownName};
pub use quantity::Quantity;
pub use scope::{Counters, Counts, MOST, scope, usual};
