//! Events that explain a time, by what an experiment is about.

use crate::pmu::Quantity::{
    *, {self},
};

/// Walks of lists and arrays: where the elements were found.
pub(crate) const WALK: &[Quantity] = &[
    Instructions,
    L1dMisses,
    L2Accesses,
    L2Misses,
    MemoryLoads,
    DtlbWalks,
];

/// The same where the number of pages is the point.
pub(crate) const PAGES: &[Quantity] = &[
    L1dMisses,
    L2Misses,
    DtlbMisses,
    StlbHits,
    DtlbWalks,
    DtlbWalkCycles,
];

/// Conflicts in a set of L1d.
pub(crate) const CONFLICTS: &[Quantity] = &[L1dMisses, L2Misses];

/// Streams of loads and stores: what limits them.
pub(crate) const BANDWIDTH: &[Quantity] = &[
    L1dPending,
    L1dPendingCycles,
    FillBufferFull,
    L2Misses,
    MemoryLoads,
    Rfos,
];

/// Stores through the cache and past it.
pub(crate) const STORES: &[Quantity] = &[Stores, Rfos, L2Misses];

/// Accesses across the end of a line.
pub(crate) const SPLITS: &[Quantity] = &[SplitLoads, SplitStores, DtlbWalks];

/// A load behind a store.
pub(crate) const FORWARDING: &[Quantity] = &[ForwardingBlocks, AddressAliases];

/// Prefetches by instruction.
pub(crate) const PREFETCHES: &[Quantity] = &[
    SoftwarePrefetches,
    UsefulPrefetches,
    LatePrefetches,
    IdlePrefetches,
    L1dMisses,
];

/// Code: where its instructions come from.
pub(crate) const CODE: &[Quantity] = &[DecodedOps, LegacyOps, LoopOps, L1iMisses, ItlbWalks];

/// Products of matrices.
pub(crate) const PRODUCT: &[Quantity] = &[Instructions, L1dMisses, L2Misses, DtlbWalks];
