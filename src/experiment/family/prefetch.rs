//! Drepper 6.3.2, software prefetching: the hints, Figure 6.7, and how far ahead it pays.

mod distance;
mod helper;
mod hints;
mod walk;

use crate::experiment::Experiment;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[
    hints::HINTS,
    walk::FIG_6_7,
    distance::DISTANCE,
    helper::FIG_6_8,
];
