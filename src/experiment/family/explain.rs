//! Events that explain a time, by what an experiment is about.

use crate::counters::Quantity::{self, *};

/// Walks of lists and arrays: where the elements were found.
pub(super) const WALK: &[Quantity] = &[
    Instructions,
    L1dMisses,
    L2Accesses,
    L2Misses,
    MemoryLoads,
    DtlbWalks,
];

/// The same where the number of pages is the point.
pub(super) const PAGES: &[Quantity] = &[
    L1dMisses,
    L2Misses,
    DtlbMisses,
    StlbHits,
    DtlbWalks,
    DtlbWalkCycles,
];

/// Conflicts in a set of L1d.
pub(super) const CONFLICTS: &[Quantity] = &[L1dMisses, L2Misses];

/// Streams of loads and stores: what limits them.
pub(super) const BANDWIDTH: &[Quantity] = &[
    L1dPending,
    L1dPendingCycles,
    FillBufferFull,
    L2Misses,
    MemoryLoads,
    Rfos,
];

/// Stores through the cache and past it.
pub(super) const STORES: &[Quantity] = &[Stores, Rfos, L2Misses];

/// Accesses across the end of a line.
pub(super) const SPLITS: &[Quantity] = &[SplitLoads, SplitStores, DtlbWalks];

/// A load behind a store.
pub(super) const FORWARDING: &[Quantity] = &[ForwardingBlocks, AddressAliases];

/// Prefetches by instruction.
pub(super) const PREFETCHES: &[Quantity] = &[
    SoftwarePrefetches,
    UsefulPrefetches,
    LatePrefetches,
    IdlePrefetches,
    L1dMisses,
];

/// Code: where its instructions come from.
pub(super) const CODE: &[Quantity] = &[DecodedOps, LegacyOps, LoopOps, L1iMisses, ItlbWalks];

/// Products of matrices.
pub(super) const PRODUCT: &[Quantity] = &[Instructions, L1dMisses, L2Misses, DtlbWalks];
