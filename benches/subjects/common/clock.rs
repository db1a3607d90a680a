//! The library's own measurements for Criterion, from their source: the library offers them
//! behind its feature `criterion`, and `std` is to be enough for the benches.

// The benches use a part of them.
#[allow(dead_code, unused_imports)]
#[path = "../../../src/criterion.rs"]
mod measurements;

pub use measurements::{Clock, CoreCycles, Ticks};
