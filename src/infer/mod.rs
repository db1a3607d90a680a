//! What measured curves tell of the machine that they were measured on: sizes, ways, lines,
//! entries, buffers and latencies, each with a confidence.
//!
//! Nothing here measures, and nothing looks at what the machine says of itself: a disagreement with
//! CPUID is a finding. A [`Curve`] is a list of places and intervals, from left to right.

mod capacity;
mod cluster;
mod conflict;
mod count;
mod found;
mod line;
mod policy;
mod replacement;
mod size;

pub use capacity::{Level, levels};
pub use cluster::{Groups, clusters};
pub use conflict::{Conflicts, Sets, sets, sets_within};
pub use count::{
    entries, in_parallel, last_abreast, last_before_rise, remembered, saturation, window,
};
pub use found::{Curve, Found, decide, settled};
pub use line::line;
pub use policy::{lost, policy};
pub use replacement::{Known, replacement};
pub use size::{size, size_of_both, size_range};
