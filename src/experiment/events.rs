//! Events that explain a time: which are counted beside what, what was counted of an operation, and what
//! this machine counts.

use crate::experiment::{Testable, Untestable};
use crate::pmu::Quantity::{self, *};
use crate::prelude::*;
use crate::stats::Interval;

/// What was counted of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// What it is.
    pub quantity: Quantity,
    /// How often an operation, by the difference of N and 2N.
    pub value: Interval,
    /// Whether the event shared its counter with others, so that the value is extrapolated.
    pub multiplexed: bool,
}

/// What a machine counts, and by which event; or why it does not. Plain data, so that it can be
/// read back from a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    answers: Vec<(Quantity, Result<String, String>)>,
}

impl Counting {
    /// Of these answers: for a quantity the vendor's name of the event, or the reason why there is
    /// none.
    pub fn of(answers: impl IntoIterator<Item = (Quantity, Result<String, String>)>) -> Self {
        Counting {
            answers: answers.into_iter().collect(),
        }
    }

    /// The answers, in the order in which they were given.
    pub fn answers(&self) -> impl Iterator<Item = (Quantity, Result<&str, &str>)> {
        self.answers.iter().map(|(quantity, answer)| {
            let answer = answer.as_ref().map(String::as_str);
            (*quantity, answer.map_err(String::as_str))
        })
    }

    /// The vendor's name of the event that counts `quantity`.
    ///
    /// # Errors
    /// Why it is not counted here.
    pub fn event(&self, quantity: Quantity) -> Testable<&str> {
        let mut answers = self.answers();
        match answers.find(|(of, _)| *of == quantity) {
            Some((_, Ok(event))) => Ok(event),
            Some((_, Err(reason))) => Err(Untestable(format!("{quantity}: {reason}"))),
            None => Err(Untestable(format!(
                "{quantity}: nobody looked whether they can be counted"
            ))),
        }
    }
}

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
