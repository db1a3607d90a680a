//! What one wants to know, and the event of each core that comes nearest to telling it.

mod table;

use super::events::find;
use super::{EventCode, Microarch};
use table::{Candidate, TABLE};

/// Something that counters can tell, whatever the vendor calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Cycles of the core, those in which it is halted left out.
    CoreCycles,
    /// Retired instructions.
    Instructions,
    /// Cycles of a clock of constant rate, while the core is not halted.
    ReferenceCycles,
    /// Retired branches.
    Branches,
    /// Retired branches that were mispredicted.
    Mispredictions,
    /// L1d misses in flight, added up cycle by cycle. Over
    /// [`CyclesWithMisses`](Self::CyclesWithMisses) it is memory-level parallelism.
    MissesInFlight,
    /// Cycles with at least one L1d miss in flight.
    CyclesWithMisses,
    /// How often, or for how long, a load found no free fill buffer.
    FillBuffersFull,
    /// Loads that hit L1d.
    L1dLoadHits,
    /// Loads that missed L1d.
    L1dLoadMisses,
    /// Lines that came into L1d.
    L1dFills,
    /// Loads that hit L2.
    L2LoadHits,
    /// Loads that missed L2.
    L2LoadMisses,
    /// Requests to L2 of all kinds.
    L2Requests,
    /// Requests that missed the last level.
    LastLevelMisses,
    /// Loads whose page the first dTLB did not know and the second did.
    StlbHits,
    /// Page walks for loads.
    LoadWalks,
    /// Cycles in which a page walk for a load was under way.
    LoadWalkCycles,
    /// Page walks for stores.
    StoreWalks,
    /// Page walks for instruction fetches.
    FetchWalks,
    /// Micro-operations from the loop buffer.
    LoopBufferOps,
    /// Micro-operations from the cache of decoded ones.
    OpCacheOps,
    /// Micro-operations from the decoders.
    DecoderOps,
    /// Pipeline clears because code was written that was being executed.
    SelfModifiedCode,
    /// Pipeline clears because loads were seen out of order.
    MemoryOrderClears,
    /// Loads that waited because an earlier store could not be forwarded to them.
    ForwardsBlocked,
    /// Loads that waited for a store at the same offset of another 4 KiB page.
    AddressAliases,
    /// Loads across two lines.
    SplitLoads,
    /// Stores across two lines.
    SplitStores,
    /// Requests for ownership of a line, to write it.
    OwnershipRequests,
    /// Reads outstanding beyond L2, added up cycle by cycle.
    ReadsOutstanding,
    /// Software prefetches.
    SoftwarePrefetches,
    /// Non-temporal software prefetches.
    NonTemporalPrefetches,
    /// Loads that found their line on its way by a software prefetch: it came too late.
    LatePrefetches,
    /// Software prefetches of lines that were there or on their way already.
    NeedlessPrefetches,
    /// Cycles in which nothing went on because the store buffer was full.
    StoreBufferFull,
    /// Cycles in which nothing was executed or retired while a load was waited for.
    LoadStalls,
}

/// The nearest event that a core has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The event. Its threshold is ours where the vendor lists no event with one.
    pub event: EventCode,
    /// In what it differs from what was asked; `None` if in nothing.
    pub differs: Option<&'static str>,
}

impl Question {
    /// All questions, in the order of this list.
    pub fn all() -> impl Iterator<Item = Question> {
        TABLE.iter().map(|(question, _)| *question)
    }

    /// The event of a core that comes nearest to an answer, `None` if none comes near.
    pub fn answer(self, microarch: Microarch) -> Option<Answer> {
        self.candidates().iter().find_map(|candidate| {
            let mut event = find(candidate.name, microarch)?;
            if candidate.cmask != 0 {
                event.encoding = event.encoding.cmask(candidate.cmask);
            }
            let differs = (!candidate.differs.is_empty()).then_some(candidate.differs);
            Some(Answer { event, differs })
        })
    }

    fn candidates(self) -> &'static [Candidate] {
        let mut entries = TABLE.iter();
        let entry = entries.find(|(question, _)| *question == self);
        entry.map_or(&[], |(_, candidates)| candidates)
    }
}
