//! The experiments, one figure family a file.

use super::Experiment;

mod sequential;

/// Every experiment that works, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    [sequential::ALL].into_iter().flatten()
}
