//! A round of a record over time.

use serde::{Deserialize, Serialize};

use super::PointLine;

/// What `linefill watch` measured at one time. A line of its own, so that a round is there or is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundLine {
    /// Which of all rounds it is, from 0; numbers are missing where the record was thinned.
    pub number: u64,
    /// Seconds since 1970 when it began.
    pub started: u64,
    /// Seconds from the start of the first round to its own, by a clock that nobody sets.
    pub at: f64,
    /// Seconds that it took.
    pub took: f64,
    /// The points, without their samples.
    pub points: Vec<PointLine>,
}
