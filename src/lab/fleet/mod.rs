//! Many records as one: how each figure is distributed over the hosts, which hosts lie outside, and what
//! is set otherwise there.
//!
//! Records are read a few at a time. What stays of one is three numbers per figure and its settings.

mod collect;
mod gates;
mod outlier;
mod print;
mod setting;

pub(crate) use collect::{Figure, Fleet, Value, fleet};
pub(crate) use gates::judge;
pub(crate) use outlier::{DISTANCE, LEAST, SCORE, Spread};
pub(crate) use print::Summary;

/// From more records than this on, `compare` summarises them: beside that many, a person reads each.
pub(crate) const SIDE_BY_SIDE: usize = 8;
