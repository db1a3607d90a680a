//! Events that explain a time: which events are counted beside which times, the counts per operation,
//! and which events this machine counts.

use crate::experiment::{Testable, Untestable};
use crate::pmu::Quantity::{self, *};
use crate::prelude::*;
use crate::stats::Interval;

/// The count of a quantity per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The quantity.
    pub quantity: Quantity,
    /// The count per operation, from the difference of N and 2N operations.
    pub value: Interval,
    /// Whether the event shared its counter with other events, so that the value is extrapolated.
    pub multiplexed: bool,
}

/// Which quantities a machine counts, and by which event; or why it does not count them. Plain data, so
/// that it can be read back from a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    answers: Vec<(Quantity, Result<String, String>)>,
}

impl Counting {
    /// Returns a `Counting` of these answers: for each quantity, the vendor's name of the event, or the
    /// reason why it is not counted.
    pub fn of(answers: impl IntoIterator<Item = (Quantity, Result<String, String>)>) -> Self {
        Counting { answers: answers.into_iter().collect() }
    }

    /// Returns the answers, in the order given.
    pub fn answers(&self) -> impl Iterator<Item = (Quantity, Result<&str, &str>)> {
        self.answers.iter().map(|(quantity, answer)| {
            let answer = answer.as_ref().map(String::as_str);
            (*quantity, answer.map_err(String::as_str))
        })
    }

    /// Returns the vendor's name of the event that counts `quantity`.
    ///
    /// # Errors
    /// The reason why it is not counted here.
    pub fn event(&self, quantity: Quantity) -> Testable<&str> {
        let mut answers = self.answers();
        match answers.find(|(of, _)| *of == quantity) {
            Some((_, Ok(event))) => Ok(event),
            Some((_, Err(reason))) => Err(Untestable(format!("{quantity}: {reason}"))),
            None => Err(Untestable(format!("{quantity}: not probed on this machine"))),
        }
    }
}

/// For walks of lists and arrays: where the elements were found.
pub(crate) const WALK: &[Quantity] =
    &[Instructions, L1dMisses, L2Accesses, L2Misses, MemoryLoads, DtlbWalks];

/// For walks whose number of pages matters.
pub(crate) const PAGES: &[Quantity] =
    &[L1dMisses, L2Misses, DtlbMisses, StlbHits, DtlbWalks, DtlbWalkCycles];

/// For conflicts in a set of L1d.
pub(crate) const CONFLICTS: &[Quantity] = &[L1dMisses, L2Misses];

/// For streams of loads and stores: what limits them.
pub(crate) const BANDWIDTH: &[Quantity] =
    &[L1dPending, L1dPendingCycles, FillBufferFull, L2Misses, MemoryLoads, Rfos];

/// For stores through the caches and past them.
pub(crate) const STORES: &[Quantity] = &[Stores, Rfos, L2Misses];

/// For accesses across the end of a line.
pub(crate) const SPLITS: &[Quantity] = &[SplitLoads, SplitStores, DtlbWalks];

/// For a load after a store.
pub(crate) const FORWARDING: &[Quantity] = &[ForwardingBlocks, AddressAliases];

/// For prefetches by instruction.
pub(crate) const PREFETCHES: &[Quantity] =
    &[SoftwarePrefetches, UsefulPrefetches, LatePrefetches, IdlePrefetches, L1dMisses];

/// For code: where its instructions come from.
pub(crate) const CODE: &[Quantity] = &[DecodedOps, LegacyOps, LoopOps, L1iMisses, ItlbWalks];

/// For matrix products.
pub(crate) const PRODUCT: &[Quantity] = &[Instructions, L1dMisses, L2Misses, DtlbWalks];
