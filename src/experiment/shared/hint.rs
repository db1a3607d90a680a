//! The first load of a line after a prefetch.

// Flushes and prefetches lines of a region by address.
#![allow(unsafe_code)]

use crate::cpu::{
    Feature, Hint, clflush, lfence, mfence, prefetchnta, prefetcht0, prefetcht1, prefetcht2,
    prefetchw,
};
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Kernel, Walk, Work};
use crate::measure::Shot;
use crate::pattern::{Layout, Order, Rng};
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
    pub place: Place,
    /// Bytes of the sweep before the shots: well beyond the last-level cache.
    pub past_bytes: usize,
    /// Seed for the choice of lines.
    pub seed: u64,
}

/// Checks that this CPU executes the hint.
pub(crate) fn executed(hint: Hint, context: &Context) -> Testable<()> {
    let no_op = hint == Hint::Write && !context.features.has(Feature::Prefetchw);
    if no_op { Err(Untestable::because("this CPU executes prefetchw as a no-op")) } else { Ok(()) }
}

/// Bytes of the lines to choose from: no more pages than the smallest L1 dTLB covers.
pub(crate) const BYTES: usize = 16 * PAGE;

/// Ticks that a line gets to arrive or to leave: several times the latency of any memory.
const PATIENCE: u64 = 5000;

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
        // A CPU may judge by past accesses whether prefetches into its outer levels are worth their
        // bandwidth, and drop the program's prefetches along with its own. A sequential walk uses
        // every prefetched line.
        let past = WalkSetup::follow(Layout::npad(7), past.len(), Order::Sequential).walk(past)?;
        let lines = Lines { past, shots: 0, region, rng: Rng::new(self.seed), line: 0 };
        Ok(match self.place {
            Place::Flushed => lines.brought(|_| {}),
            // SAFETY: `brought` passes the address of a line of the region.
            Place::Loaded => lines.brought(|line| unsafe {
                black_box(line.read_volatile());
            }),
            Place::Prefetched(Hint::T0) => lines.brought(prefetcht0),
            Place::Prefetched(Hint::T1) => lines.brought(prefetcht1),
            Place::Prefetched(Hint::T2) => lines.brought(prefetcht2),
            Place::Prefetched(Hint::Nta) => lines.brought(prefetchnta),
            Place::Prefetched(Hint::Write) => lines.brought(prefetchw),
        })
    }
}

/// Steps of the sweep.
const STEPS: u64 = 1_000_000;
const SHOTS: u32 = 120;

/// Lines of which each shot takes another.
struct Lines<'m> {
    past: Walk<'m>,
    shots: u32,
    region: Region<'m>,
    rng: Rng,
    /// Byte offset of the line that is loaded next.
    line: usize,
}

impl<'m> Lines<'m> {
    /// Returns the loads of flushed lines that `bring` has brought to their place.
    fn brought(self, bring: impl Fn(*const u8) + 'm) -> Workload<'m> {
        let shot = LineShot { lines: self, bring };
        Workload::shot(shot, Work::default().load(1, 8))
    }
}

/// A load of a line. Its type fixes what brings the line to its place: if a branch chose that, a
/// mispredicted one would load or prefetch a line that was to stay flushed.
struct LineShot<'m, B> {
    lines: Lines<'m>,
    bring: B,
}

impl<B: Fn(*const u8)> Shot for LineShot<'_, B> {
    fn prepare(&mut self) {
        let lines = &mut self.lines;
        if lines.shots.is_multiple_of(SHOTS) {
            black_box(lines.past.run(STEPS));
        }
        lines.shots += 1;
        lines.line = lines.rng.below(lines.region.len() / LINE) * LINE;
        let line = &raw const lines.region.bytes()[lines.line];
        // Loading the line in the other half of the page keeps the translation in the TLB: a prefetch
        // may be dropped on a TLB miss. A prefetcher does not pair it with the chosen line.
        black_box(lines.region.word(lines.line ^ (PAGE / 2)));
        // SAFETY: the line lies in the region.
        unsafe { clflush(line) };
        mfence();
        (self.bring)(line);
        settle();
    }

    fn shoot(&mut self) -> u64 {
        self.lines.region.word(self.lines.line)
    }
}
