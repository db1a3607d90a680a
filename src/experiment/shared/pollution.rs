//! How much of a hot set remains after other data have passed through the cache.

// Loads and stores lines of a region past the cache, by address.
#![allow(unsafe_code)]

#[cfg(target_feature = "sse2")]
use crate::cpu::{Sse41, movntdq, movntdqa};
use crate::cpu::{prefetchnta, prefetcht0, sfence};
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Kernel, Walk, Work};
use crate::measure::Shot;
use crate::pattern::Layout;
#[cfg(target_feature = "sse2")]
use core::arch::x86_64::__m128i;
use core::hint::black_box;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    Nothing,
    /// Each line is prefetched with `prefetcht0` some lines ahead, then loaded.
    T0,
    /// Each line is prefetched with `prefetchnta` some lines ahead, then loaded.
    Nta,
    /// Each line is loaded.
    Load,
    /// Each line is loaded by four `movntdqa`.
    NonTemporalLoad,
    /// Each line is written.
    Store,
    /// Each line is written by four `movntdq`.
    NonTemporalStore,
}

/// A hot ring that fits a cache, and lines that pass between two laps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollutionSetup {
    /// Bytes of the hot ring.
    pub hot: usize,
    /// Bytes that pass: a power of two.
    pub passing: usize,
    pub passage: Passage,
    /// Seed for the order of the ring.
    pub seed: u64,
}

impl PollutionSetup {
    /// Returns a hot set of half of L2, and at least four times as many passing bytes.
    pub fn in_l2(machine: &Machine, passage: Passage) -> Self {
        let hot = (machine.ranges.l2.hi as usize).next_multiple_of(LINE);
        PollutionSetup { hot, passing: (4 * hot).next_power_of_two(), passage, seed: machine.seed }
    }
}

/// The number of lines between a prefetch and the load of the prefetched line.
const AHEAD: usize = 16;

impl Setup for PollutionSetup {
    fn bytes(&self) -> usize {
        self.hot.next_multiple_of(LINE) + self.passing
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let sse41 = context.features.sse41();
        if self.passage == Passage::NonTemporalLoad && sse41.is_none() {
            return Err(Untestable::because("movntdqa needs SSE4.1, which this CPU lacks"));
        }
        #[cfg(not(target_feature = "sse2"))]
        if self.passage == Passage::NonTemporalLoad {
            return Err(Untestable::without_vectors());
        }
        let list = WalkSetup::random(Layout::npad(7), self.hot, self.seed);
        let (hot, passing) = region
            .split(self.hot)
            .ok_or_else(|| Untestable("the memory has no room for the passing lines".to_owned()))?;
        let shot = PollutionShot {
            walk: list.walk(hot)?,
            period: list.count as u64,
            passing,
            passage: self.passage,
            #[cfg(target_feature = "sse2")]
            sse41,
        };
        Ok(Workload::shot(shot, Work::default().load(list.count as u32, 8)))
    }
}

/// Returns the byte offset of the passing line number `index`, cyclically.
///
/// The lines pass in an order that no hardware prefetcher follows: prefetchers fetch into L2 whatever
/// the hint says. The step is 0.618 of the number of lines, so that consecutive lines are never adjacent
/// in memory, and odd, so that it meets every line of a power of two.
fn scattered(index: usize, lines: usize) -> usize {
    let step = (lines as f64 * 0.618) as usize | 1;
    index.wrapping_mul(step) % lines * LINE
}

/// Writes zeros to a whole line by non-temporal stores: four of 16 bytes, or eight of 8 bytes in a
/// program without vectors.
pub(crate) fn stream_line(line: &mut [u8]) {
    #[cfg(target_feature = "sse2")]
    for quarter in line.chunks_exact_mut(16) {
        let to = quarter.as_mut_ptr().cast::<__m128i>();
        // SAFETY: the chunk has 16 bytes and is aligned to 16, as lines are; all zeros are a valid
        // vector.
        unsafe { movntdq(to, core::mem::zeroed()) };
    }
    #[cfg(not(target_feature = "sse2"))]
    for eighth in line.chunks_exact_mut(8) {
        // SAFETY: the chunk has 8 bytes and is aligned to 8, as lines are.
        unsafe { crate::cpu::movnti64(eighth.as_mut_ptr().cast(), 0) };
    }
}

struct PollutionShot<'m> {
    walk: Walk<'m>,
    period: u64,
    passing: Region<'m>,
    passage: Passage,
    #[cfg(target_feature = "sse2")]
    sse41: Option<Sse41>,
}

impl PollutionShot<'_> {
    /// Passes the line at byte `at`. `ahead` is the byte offset of a line that passes later.
    fn pass(&mut self, at: usize, ahead: usize) {
        let bytes = self.passing.bytes_mut();
        match self.passage {
            Passage::Nothing => {}
            Passage::T0 => {
                prefetcht0(&raw const bytes[ahead]);
                black_box(bytes[at]);
            }
            Passage::Nta => {
                prefetchnta(&raw const bytes[ahead]);
                black_box(bytes[at]);
            }
            Passage::Load => {
                black_box(bytes[at]);
            }
            Passage::NonTemporalLoad => {
                #[cfg(target_feature = "sse2")]
                let Some(sse41) = self.sse41 else { return };
                #[cfg(target_feature = "sse2")]
                for quarter in bytes[at..at + LINE].chunks_exact(16) {
                    // SAFETY: the chunk has 16 bytes and is aligned to 16, as lines are.
                    black_box(unsafe { movntdqa(sse41, quarter.as_ptr().cast()) });
                }
            }
            Passage::Store => black_box(&mut bytes[at..at + LINE]).fill(1),
            Passage::NonTemporalStore => stream_line(&mut bytes[at..at + LINE]),
        }
    }
}

impl Shot for PollutionShot<'_> {
    fn prepare(&mut self) {
        black_box(self.walk.run(2 * self.period));
        if self.passage == Passage::Nothing {
            return;
        }
        let lines = self.passing.len() / LINE;
        for index in 0..lines {
            self.pass(scattered(index, lines), scattered(index + AHEAD, lines));
        }
        sfence();
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.period)
    }
}
