//! The first load of a line after a prefetch.

// Flushes and prefetches lines of a region by address.
#![allow(unsafe_code)]

use crate::cpu::{Feature, Hint, clflush, lfence, mfence, prefetch};
use crate::experiment::prelude::*;
use crate::kernel::{Kernel, Step, Walk, Work};
use crate::measure::Shot;
use crate::mem::{LINE, PAGE, Region};
use crate::pattern::{Layout, Order, Ring, Rng};
use crate::time::start;
use core::hint::black_box;

/// What was done to a line before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Flushed from all caches.
    Flushed,
    /// Flushed and loaded again.
    Loaded,
    /// Flushed and prefetched, with time for the prefetch to arrive.
    Prefetched(Hint),
}

/// One load of a line whose place is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HintSetup {
    /// The place of the line.
    pub place: Place,
    /// Bytes of the sweep before the shots: well beyond the last-level cache.
    pub past_bytes: usize,
    /// Seed for the choice of lines.
    pub seed: u64,
}

/// Checks that this CPU executes the hint.
pub(crate) fn executed(hint: Hint, context: &Context) -> Testable<()> {
    match hint != Hint::Write || context.features.has(Feature::Prefetchw) {
        true => Ok(()),
        false => Err(Untestable::because(
            "this CPU executes prefetchw as a no-op",
        )),
    }
}

/// Bytes of the lines to choose from: no more pages than the smallest L1 dTLB covers.
pub(crate) const BYTES: usize = 16 * PAGE;

/// Ticks that a line gets to arrive or to leave: several times the latency of any memory.
const PATIENCE: u64 = 5000;

/// Waits so long.
pub(crate) fn settle() {
    let begin = start();
    while start() - begin < PATIENCE {}
    lfence();
}

impl Setup for HintSetup {
    fn bytes(&self) -> usize {
        BYTES + self.past_bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        if let Place::Prefetched(hint) = self.place {
            executed(hint, context)?;
        }
        let (region, past) = region
            .split(BYTES)
            .ok_or_else(|| Untestable("the memory has no room for the sweep".to_owned()))?;
        let shot = LineShot {
            past: sweep(past)?,
            shots: 0,
            region,
            place: self.place,
            rng: Rng::new(self.seed),
            line: 0,
        };
        Ok(Workload::shot(shot, Work::default().load(1, 8)))
    }
}

/// Returns a sequential walk along `region`, which uses every prefetched line. A CPU may judge by past
/// accesses whether prefetches into its outer levels are worth their bandwidth, and drop the program's
/// prefetches along with its own.
fn sweep(region: Region<'_>) -> Testable<Walk<'_>> {
    let layout = Layout::npad(7);
    let count = layout.count(region.len());
    let ring = Ring::new(region, layout, count, Order::Sequential)?;
    Ok(Walk::new(ring, Step::Follow)?)
}

/// Steps of the sweep.
const STEPS: u64 = 1_000_000;
const SHOTS: u32 = 120;

struct LineShot<'m> {
    past: Walk<'m>,
    /// Shots so far.
    shots: u32,
    region: Region<'m>,
    place: Place,
    rng: Rng,
    /// Byte offset of the line that is loaded next.
    line: usize,
}

impl Shot for LineShot<'_> {
    fn prepare(&mut self) {
        if self.shots.is_multiple_of(SHOTS) {
            black_box(self.past.run(STEPS));
        }
        self.shots += 1;
        self.line = self.rng.below(self.region.len() / LINE) * LINE;
        let line = &raw const self.region.bytes()[self.line];
        // Loading the line in the other half of the page keeps the translation in the TLB: a prefetch
        // may be dropped on a TLB miss. A prefetcher does not pair it with the chosen line.
        black_box(self.region.word(self.line ^ (PAGE / 2)));
        // SAFETY: the line lies in the region.
        unsafe { clflush(line) };
        mfence();
        match self.place {
            Place::Flushed => {}
            Place::Loaded => {
                black_box(self.region.word(self.line));
            }
            Place::Prefetched(hint) => prefetch(hint, line),
        }
        settle();
    }

    fn shoot(&mut self) -> u64 {
        self.region.word(self.line)
    }
}
