//! The experiments, one figure family a file.

use super::Experiment;

mod alignment;
mod associativity;
mod pages;
mod random;
mod sequential;
mod structure;
mod word;

/// Every experiment that works, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    [
        structure::ALL,
        sequential::ALL,
        pages::ALL,
        random::ALL,
        word::ALL,
        alignment::ALL,
        associativity::ALL,
    ]
    .into_iter()
    .flatten()
}

/// The machine of most figures of Drepper's section 3.3.
const PENTIUM_4: &str = "Pentium 4, 64-bit, 16 KiB L1d, 1 MiB L2 (2007)";
