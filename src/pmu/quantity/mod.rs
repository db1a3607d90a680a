//! What can be counted, by its meaning.

mod table;

use super::events::find;
use super::{EventCode, Microarch};

/// The nearest event that a core has for a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The event.
    pub event: EventCode,
    /// In what it differs from the quantity; `None` if in nothing.
    pub differs: Option<&'static str>,
}

/// Defines the quantities with their names in the order of the list.
macro_rules! quantities {
    ($($(#[$doc:meta])+ $quantity:ident = $name:literal,)+) => {
        /// Something that a performance counter can tell, by its meaning: every maker, and nearly
        /// every generation, has a name of its own for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Quantity {
            $($(#[$doc])+ $quantity,)+
        }

        impl Quantity {
            /// All of them.
            pub const ALL: [Quantity; [$($name),+].len()] = [$(Quantity::$quantity),+];

            /// It in words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Quantity::$quantity => $name,)+
                }
            }
        }
    };
}

quantities! {
    /// Core cycles, those in which the core is halted left out.
    Cycles = "cycles",
    /// Instructions retired.
    Instructions = "instructions",
    /// Cycles of a clock of constant rate while the core is not halted.
    ReferenceCycles = "reference cycles",
    /// Branches retired.
    Branches = "branches",
    /// Branches retired that were mispredicted.
    BranchMisses = "branches mispredicted",
    /// Loads retired.
    Loads = "loads",
    /// Stores retired.
    Stores = "stores",
    /// Loads that did not find their line in L1d.
    L1dMisses = "L1d misses",
    /// Lines that came into L1d, whoever asked for them.
    L1dFills = "L1d fills",
    /// Misses of L1d that are outstanding, added up cycle by cycle. Over
    /// [`L1dPendingCycles`](Self::L1dPendingCycles) it is memory-level parallelism.
    L1dPending = "L1d misses pending, cycle by cycle",
    /// Cycles with a miss of L1d outstanding.
    L1dPendingCycles = "cycles with an L1d miss pending",
    /// Cycles in which a load had to wait for a fill buffer.
    FillBufferFull = "cycles without a free fill buffer",
    /// Loads that were served by L2.
    L2Hits = "loads from L2",
    /// Accesses to L2 from this core, prefetches included.
    L2Accesses = "L2 accesses",
    /// Those of them that missed.
    L2Misses = "L2 misses",
    /// Loads that were served from memory.
    MemoryLoads = "loads from memory",
    /// Requests for the ownership of a line that left the core.
    Rfos = "requests for ownership",
    /// Reads outstanding beyond L2, added up cycle by cycle.
    ReadsPending = "reads pending beyond L2, cycle by cycle",
    /// Loads whose translation was not in the first level of the dTLB.
    DtlbMisses = "dTLB misses",
    /// Those of them that the second level served.
    StlbHits = "translations by the second-level TLB",
    /// Walks of the page tables for loads: no TLB knew the page.
    DtlbWalks = "page walks for loads",
    /// Cycles with a page walk for a load under way.
    DtlbWalkCycles = "cycles of page walks for loads",
    /// Walks of the page tables for stores.
    StoreWalks = "page walks for stores",
    /// Walks of the page tables for instructions.
    ItlbWalks = "page walks for instructions",
    /// Instruction lines that L1i did not hold.
    L1iMisses = "L1i misses",
    /// Micro-operations from the cache of decoded instructions.
    DecodedOps = "operations from the decoded cache",
    /// Micro-operations from the legacy decoders.
    LegacyOps = "operations from the decoders",
    /// Micro-operations from the buffer of a short loop.
    LoopOps = "operations from the loop buffer",
    /// Pipelines emptied because code was written to.
    SelfModifying = "self-modifying code clears",
    /// Pipelines emptied because loads were seen out of order.
    OrderClears = "memory ordering clears",
    /// Loads that waited because a store could not be forwarded to them.
    ForwardingBlocks = "loads that could not be forwarded to",
    /// Loads that waited for a store to an address that agrees in its lowest 12 bits.
    AddressAliases = "loads held up by a 4 KiB alias",
    /// Loads across the end of a line.
    SplitLoads = "loads across two lines",
    /// Stores across the end of a line.
    SplitStores = "stores across two lines",
    /// Cycles in which nothing went on because the store buffer was full.
    StoreBufferFull = "cycles with a full store buffer",
    /// Cycles in which nothing was executed or retired while a load was waited for.
    LoadStalls = "cycles stalled on loads",
    /// Software prefetches executed.
    SoftwarePrefetches = "software prefetches",
    /// Those of them that are non-temporal.
    NonTemporalPrefetches = "non-temporal software prefetches",
    /// Loads that found their line on its way because of a software prefetch: it came too late.
    LatePrefetches = "loads behind a late prefetch",
    /// Software prefetches that fetched a line, on Intel from beyond L2, on AMD from beyond L1d.
    UsefulPrefetches = "software prefetches that fetched a line",
    /// Software prefetches that brought nothing, since the line was there or on its way.
    IdlePrefetches = "software prefetches that brought nothing",
}

impl Quantity {
    /// The quantity of this name.
    pub fn named(name: &str) -> Option<Self> {
        Quantity::ALL
            .into_iter()
            .find(|quantity| quantity.name() == name)
    }

    /// The event of `core` that comes nearest to it; `None` if none comes near.
    pub fn answer(self, core: Microarch) -> Option<Answer> {
        self.candidates().iter().find_map(|&(name, differs)| {
            Some(Answer {
                event: find(name, core)?,
                differs: (!differs.is_empty()).then_some(differs),
            })
        })
    }

    /// The event by which `core` counts it; `None` if the tables have none.
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
