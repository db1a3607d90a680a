//! Quantities that performance counters can count, named by their meaning.

mod table;

use super::events::find;
use super::{EventCode, Microarch};

/// The event of a core that comes closest to a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The event.
    pub event: EventCode,
    /// How the event differs from the quantity; `None` if it does not.
    pub differs: Option<&'static str>,
}

variants! {
    /// A quantity that performance counters can count, named by its meaning. Vendors, and nearly all
    /// generations, name the event differently.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Quantity {
        /// Core cycles in which the core is not halted.
        Cycles = "cycles",
        /// Instructions retired.
        Instructions = "instructions",
        /// Cycles of a constant-rate clock while the core is not halted.
        ReferenceCycles = "reference cycles",
        /// Branches retired.
        Branches = "branches",
        /// Mispredicted branches retired.
        BranchMisses = "branches mispredicted",
        /// Loads retired.
        Loads = "loads",
        /// Stores retired.
        Stores = "stores",
        /// Loads that did not find their line in L1d.
        L1dMisses = "L1d misses",
        /// Lines brought into L1d, for any requester.
        L1dFills = "L1d fills",
        /// Outstanding L1d misses, summed over cycles. Divided by
        /// [`L1dPendingCycles`](Self::L1dPendingCycles), this is the memory-level parallelism.
        L1dPending = "L1d misses pending, cycle by cycle",
        /// Cycles with at least one L1d miss outstanding.
        L1dPendingCycles = "cycles with an L1d miss pending",
        /// Cycles in which a load had to wait for a fill buffer.
        FillBufferFull = "cycles without a free fill buffer",
        /// Loads that were served by L2.
        L2Hits = "loads from L2",
        /// Accesses to L2 from this core, prefetches included.
        L2Accesses = "L2 accesses",
        /// Accesses to L2 from this core that missed, prefetches included.
        L2Misses = "L2 misses",
        /// Loads that were served from memory.
        MemoryLoads = "loads from memory",
        /// Requests for ownership (RFOs) that left the core.
        Rfos = "requests for ownership",
        /// Reads outstanding beyond L2, summed over cycles.
        ReadsPending = "reads pending beyond L2, cycle by cycle",
        /// Loads whose translation was not in the first-level dTLB.
        DtlbMisses = "dTLB misses",
        /// Loads that missed the first-level dTLB and hit the STLB.
        StlbHits = "translations by the second-level TLB",
        /// Page-table walks for loads: no TLB held the translation.
        DtlbWalks = "page walks for loads",
        /// Cycles with a page-table walk for a load in progress.
        DtlbWalkCycles = "cycles of page walks for loads",
        /// Page-table walks for stores.
        StoreWalks = "page walks for stores",
        /// Page-table walks for instruction fetches.
        ItlbWalks = "page walks for instructions",
        /// Instruction fetches that missed L1i.
        L1iMisses = "L1i misses",
        /// Micro-operations from the decoded-instruction cache.
        DecodedOps = "operations from the decoded cache",
        /// Micro-operations from the legacy decoders.
        LegacyOps = "operations from the decoders",
        /// Micro-operations from the loop buffer.
        LoopOps = "operations from the loop buffer",
        /// Pipeline clears because code was written to.
        SelfModifying = "self-modifying code clears",
        /// Pipeline clears because loads were observed out of order.
        OrderClears = "memory ordering clears",
        /// Loads that waited because a store could not be forwarded to them.
        ForwardingBlocks = "loads that could not be forwarded to",
        /// Loads that waited for a store to an address that agrees in its lowest 12 bits.
        AddressAliases = "loads held up by a 4 KiB alias",
        /// Loads that cross a line boundary.
        SplitLoads = "loads across two lines",
        /// Stores that cross a line boundary.
        SplitStores = "stores across two lines",
        /// Cycles in which the core made no progress because the store buffer was full.
        StoreBufferFull = "cycles with a full store buffer",
        /// Cycles in which nothing was executed or retired while a load was outstanding.
        LoadStalls = "cycles stalled on loads",
        /// Software prefetches executed.
        SoftwarePrefetches = "software prefetches",
        /// Non-temporal software prefetches executed.
        NonTemporalPrefetches = "non-temporal software prefetches",
        /// Loads whose line was already on its way because of a software prefetch, which came too late.
        LatePrefetches = "loads behind a late prefetch",
        /// Software prefetches that fetched a line: on Intel from beyond L2, on AMD from beyond L1d.
        UsefulPrefetches = "software prefetches that fetched a line",
        /// Software prefetches that fetched nothing, because the line was present or on its way.
        IdlePrefetches = "software prefetches that brought nothing",
    }
}

impl Quantity {
    /// Returns the quantity with this name.
    pub fn named(name: &str) -> Option<Self> {
        Quantity::ALL.into_iter().find(|quantity| quantity.name() == name)
    }

    /// Returns the event of `core` that comes closest to the quantity; `None` if the tables have none.
    pub fn answer(self, core: Microarch) -> Option<Answer> {
        self.candidates().iter().find_map(|&(name, differs)| {
            Some(Answer {
                event: find(name, core)?,
                differs: (!differs.is_empty()).then_some(differs),
            })
        })
    }

    /// Returns the event by which `core` counts the quantity; `None` if the tables have none.
    pub fn event_of(self, core: Microarch) -> Option<EventCode> {
        self.answer(core).map(|answer| answer.event)
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
