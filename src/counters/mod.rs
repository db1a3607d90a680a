//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod meaning;
mod place;
mod quantity;
mod scope;

pub use place::{Named, Place, UnknownName};
pub use quantity::Quantity;
pub use scope::{Counters, Counts, MOST, scope, usual};
