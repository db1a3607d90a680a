//! What the benches share: clocks for Criterion, a driver, and cases of experiments.

pub mod cases;
pub mod driver;
pub mod likwid;
pub mod path;
