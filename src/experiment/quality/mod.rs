//! How good a point is: passes, disturbances, distance of threads, doubt.

pub mod apart;
pub mod passes;
pub mod spread;
