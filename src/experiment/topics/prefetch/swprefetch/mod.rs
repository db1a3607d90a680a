//! Drepper 6.3.2, software prefetching: the hints, Figure 6.7, and the distance that pays.

use crate::experiment::prelude::*;

mod distance;
mod helper;
mod hints;
mod walk;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[
    hints::HINTS,
    walk::FIG_6_7,
    distance::DISTANCE,
    helper::FIG_6_8,
];
