//! The experiments, one figure family a file.

use super::Experiment;

mod alignment;
mod associativity;
mod combining;
mod elements;
mod evict;
mod hierarchy;
mod jump;
mod loaduse;
mod orders;
mod pages;
mod policy;
mod prefetch;
mod random;
mod sequential;
mod streaming;
mod streamload;
mod structure;
mod word;

/// Every experiment that works, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    [
        hierarchy::ALL,
        structure::ALL,
        sequential::ALL,
        pages::ALL,
        random::ALL,
        word::ALL,
        elements::ALL,
        orders::ALL,
        alignment::ALL,
        associativity::ALL,
        streaming::ALL,
        combining::ALL,
        streamload::ALL,
        policy::ALL,
        evict::ALL,
        prefetch::ALL,
        jump::ALL,
        loaduse::ALL,
    ]
    .into_iter()
    .flatten()
}

/// The machine of most figures of Drepper's section 3.3.
const PENTIUM_4: &str = "Pentium 4, 64-bit, 16 KiB L1d, 1 MiB L2 (2007)";
