//! The levels of the hierarchy: sizes, sets and ways, latencies, and who shares them.

mod address;
mod associativity;
mod banks;
mod compiled;
mod critical_word;
mod faster_memory;
mod gcc;
mod inclusive;
mod levels;
mod llc_share;
mod loaduse;
pub(crate) mod misses;
mod nodes;
pub(crate) mod random;
pub mod replacement;
mod sequential;
mod topology;

families![
    topology,
    address,
    gcc,
    levels,
    reuse in levels::REUSE,
    sequential,
    random,
    capacity in random::CAPACITY,
    misses,
    critical_word,
    associativity,
    banks,
    llc_share,
    inclusive,
    loaduse,
    faster_memory,
    nodes,
];
