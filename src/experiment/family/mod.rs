//! The experiments, one figure family a file.

use super::Experiment;

mod address;
mod alignment;
mod associativity;
mod bandwidth;
mod banks;
mod behind;
mod capacity;
mod cluster;
mod code;
mod codealign;
mod codelayout;
mod combining;
mod counted;
mod directories;
mod elements;
mod eventlist;
mod evict;
mod explain;
mod extreme;
mod faster;
mod firsttouch;
mod forwardat;
mod forwarding;
mod gcc;
mod hierarchy;
mod holes;
mod hugepages;
mod hwprefetch;
mod hyperthread;
mod inclusive;
mod instruction;
mod jump;
mod kmeans;
mod lanes;
mod late;
mod loaduse;
mod locks;
mod maps;
mod matmul;
mod mesi;
mod misses;
mod mlp;
mod orders;
mod outofreach;
mod ownership;
mod pages;
mod perfasm;
mod placement;
mod policy;
mod prefetch;
mod random;
pub mod replacement;
mod reuse;
mod rfo;
mod sequential;
mod share;
mod sharing;
mod shuffle;
mod speculate;
mod straddle;
mod streaming;
mod streamload;
mod structure;
mod tensor;
mod threads;
mod tlb;
mod topology;
mod transfer;
mod translate;
mod view;
mod word;

/// The experiments of one file of this room.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The file's name, by which the family can be selected.
    pub name: &'static str,
    /// What is in it, in the order in which it is measured.
    pub experiments: &'static [Experiment],
}

macro_rules! families {
    ($($file:ident),* $(,)?) => {
        /// Every family, in the order in which they are measured.
        pub static FAMILIES: &[Family] = &[$(Family {
            name: stringify!($file),
            experiments: $file::ALL,
        }),*];
    };
}

families![
    topology,
    address,
    mesi,
    gcc,
    hierarchy,
    reuse,
    structure,
    sequential,
    pages,
    tlb,
    directories,
    hugepages,
    random,
    capacity,
    misses,
    instruction,
    word,
    elements,
    orders,
    matmul,
    holes,
    placement,
    alignment,
    straddle,
    locks,
    associativity,
    banks,
    share,
    inclusive,
    bandwidth,
    streaming,
    combining,
    streamload,
    policy,
    evict,
    firsttouch,
    hwprefetch,
    prefetch,
    late,
    translate,
    speculate,
    jump,
    loaduse,
    shuffle,
    mlp,
    lanes,
    eventlist,
    perfasm,
    tensor,
    code,
    behind,
    codealign,
    codelayout,
    forwarding,
    forwardat,
    view,
    hyperthread,
    faster,
    cluster,
    kmeans,
    sharing,
    threads,
    maps,
    rfo,
    transfer,
    ownership,
    outofreach,
];

/// Every experiment that works, family by family.
pub fn built() -> impl Iterator<Item = &'static Experiment> {
    FAMILIES.iter().flat_map(|family| family.experiments)
}

/// The family of the experiment with this id, if it works.
pub fn of(id: &str) -> Option<&'static Family> {
    let has = |family: &&Family| family.experiments.iter().any(|e| e.id == id);
    FAMILIES.iter().find(has)
}

/// The machine of most figures of Drepper's section 3.3.
const PENTIUM_4: &str = "Pentium 4, 64-bit, 16 KiB L1d, 1 MiB L2 (2007)";
