//! Counting what code does, by events that are named: as the vendor calls them, or by what they
//! mean.

mod quantity;

pub use quantity::Quantity;
