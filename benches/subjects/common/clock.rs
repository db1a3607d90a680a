//! The library's measurements for Criterion, included from their source: the library exports them with its
//! feature `criterion`, but the benches need only `std`.

// The benches use only a part of the module.
#[allow(dead_code, unused_imports)]
#[path = "../../../src/criterion.rs"]
mod measurements;

pub use measurements::{Clock, CoreCycles, Ticks};
