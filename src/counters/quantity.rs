//! What can be counted, by its meaning.

/// Something that a performance counter can tell, by its meaning: every maker, and nearly every
/// generation, has a name of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    /// Core cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Branches retired.
    Branches,
    /// Branches retired that were mispredicted.
    BranchMisses,
    /// Loads retired.
    Loads,
    /// Stores retired.
    Stores,
    /// Loads that did not find their line in L1d.
    L1dMisses,
    /// Misses of L1d that are outstanding, added up cycle by cycle.
    L1dPending,
    /// Cycles with a miss of L1d outstanding.
    L1dPendingCycles,
    /// Cycles in which a load had to wait for a fill buffer.
    FillBufferFull,
    /// Reads that looked for their line in L2, those of prefetches into L1d included.
    L2Accesses,
    /// Those of them that did not find it.
    L2Misses,
    /// Loads that were served from memory.
    MemoryLoads,
    /// Requests for the ownership of a line that left the core.
    Rfos,
    /// Loads whose translation was not in the first level of the dTLB.
    DtlbMisses,
    /// Loads whose translation the second-level TLB had.
    StlbHits,
    /// Walks of the page tables for loads: no TLB knew the page.
    DtlbWalks,
    /// Cycles with a page walk for a load under way.
    DtlbWalkCycles,
    /// Walks of the page tables for instructions.
    ItlbWalks,
    /// Instruction lines that L1i did not hold.
    L1iMisses,
    /// Micro-operations from the cache of decoded instructions.
    DecodedOps,
    /// Micro-operations from the legacy decoders.
    LegacyOps,
    /// Micro-operations from the buffer of a short loop.
    LoopOps,
    /// Pipelines emptied because code was written to.
    SelfModifying,
    /// Loads that waited because a store could not be forwarded to them.
    ForwardingBlocks,
    /// Loads that waited for a store to an address that agrees in its lowest 12 bits.
    AddressAliases,
    /// Loads across the end of a line.
    SplitLoads,
    /// Stores across the end of a line.
    SplitStores,
    /// Software prefetches executed.
    SoftwarePrefetches,
    /// Loads that found their line on its way because of a software prefetch: it came too late.
    LatePrefetches,
    /// Software prefetches that fetched a line, on Intel from beyond L2, on AMD from beyond L1d.
    UsefulPrefetches,
    /// Software prefetches that brought nothing, since the line was there or on its way.
    IdlePrefetches,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Quantity; 32] = [
        Quantity::Cycles,
        Quantity::Instructions,
        Quantity::Branches,
        Quantity::BranchMisses,
        Quantity::Loads,
        Quantity::Stores,
        Quantity::L1dMisses,
        Quantity::L1dPending,
        Quantity::L1dPendingCycles,
        Quantity::FillBufferFull,
        Quantity::L2Accesses,
        Quantity::L2Misses,
        Quantity::MemoryLoads,
        Quantity::Rfos,
        Quantity::DtlbMisses,
        Quantity::StlbHits,
        Quantity::DtlbWalks,
        Quantity::DtlbWalkCycles,
        Quantity::ItlbWalks,
        Quantity::L1iMisses,
        Quantity::DecodedOps,
        Quantity::LegacyOps,
        Quantity::LoopOps,
        Quantity::SelfModifying,
        Quantity::ForwardingBlocks,
        Quantity::AddressAliases,
        Quantity::SplitLoads,
        Quantity::SplitStores,
        Quantity::SoftwarePrefetches,
        Quantity::LatePrefetches,
        Quantity::UsefulPrefetches,
        Quantity::IdlePrefetches,
    ];

    /// It in words.
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::Cycles => "cycles",
            Quantity::Instructions => "instructions",
            Quantity::Branches => "branches",
            Quantity::BranchMisses => "branches mispredicted",
            Quantity::Loads => "loads",
            Quantity::Stores => "stores",
            Quantity::L1dMisses => "L1d misses",
            Quantity::L1dPending => "L1d misses pending, cycle by cycle",
            Quantity::L1dPendingCycles => "cycles with an L1d miss pending",
            Quantity::FillBufferFull => "cycles without a free fill buffer",
            Quantity::L2Accesses => "L2 accesses",
            Quantity::L2Misses => "L2 misses",
            Quantity::MemoryLoads => "loads from memory",
            Quantity::Rfos => "requests for ownership",
            Quantity::DtlbMisses => "dTLB misses",
            Quantity::StlbHits => "translations by the second-level TLB",
            Quantity::DtlbWalks => "page walks for loads",
            Quantity::DtlbWalkCycles => "cycles of page walks for loads",
            Quantity::ItlbWalks => "page walks for instructions",
            Quantity::L1iMisses => "L1i misses",
            Quantity::DecodedOps => "operations from the decoded cache",
            Quantity::LegacyOps => "operations from the decoders",
            Quantity::LoopOps => "operations from the loop buffer",
            Quantity::SelfModifying => "self-modifying code clears",
            Quantity::ForwardingBlocks => "loads that could not be forwarded to",
            Quantity::AddressAliases => "loads held up by a 4 KiB alias",
            Quantity::SplitLoads => "loads across two lines",
            Quantity::SplitStores => "stores across two lines",
            Quantity::SoftwarePrefetches => "software prefetches",
            Quantity::LatePrefetches => "loads behind a late prefetch",
            Quantity::UsefulPrefetches => "software prefetches that fetched a line",
            Quantity::IdlePrefetches => "software prefetches that brought nothing",
        }
    }

    /// The quantity of this name.
    pub fn named(name: &str) -> Option<Self> {
        Quantity::ALL
            .into_iter()
            .find(|quantity| quantity.name() == name)
    }
}

impl core::fmt::Display for Quantity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_is_there_once_under_a_name_of_its_own() {
        for (index, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, index, "{quantity} is out of order");
            assert_eq!(Quantity::named(quantity.name()), Some(quantity));
        }
        assert_eq!(Quantity::named("luck"), None);
    }
}
