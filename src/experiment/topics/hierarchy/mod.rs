//! The levels of the hierarchy: sizes, sets and ways, latencies, and who shares them.

pub mod address;
pub mod associativity;
pub mod banks;
pub mod compiled;
pub mod critical_word;
pub mod faster_memory;
pub mod gcc;
pub mod inclusive;
pub mod levels;
pub mod llc_share;
pub mod loaduse;
pub mod misses;
pub mod nodes;
pub mod random;
pub mod replacement;
pub mod sequential;
pub mod topology;

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
