//! The series that the experiments and the boot image both measure.

/// The series of the ladder.
pub const LADDER: &str = "random walk, one line an element";
