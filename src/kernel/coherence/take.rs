//! Lines that are taken from another core to be written (Drepper, section 6.3.2: `prefetchw`).

// Calls assembly with the address of atomic words.
#![allow(unsafe_code)]

use crate::cpu::mfence;
use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::mem::LINE;
use core::sync::atomic::{AtomicU64, Ordering};

/// Lines from one that is written to the next in address order, so that no prefetcher fetches
/// neighbours along.
pub const APART: usize = 4;

/// Of so many places, the next in turn is this many further on: odd, so that all come up.
const STEP: usize = 37;

/// Turns from a prefetch to the write.
const AHEAD: usize = 8;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireWay {
    /// By a store, which waits in the store queue until the line is there.
    Store,
    /// By `lock add`. Zen 5 executes it speculatively and overlaps one with the next, so that a
    /// sequence of them shows their throughput.
    Add,
    /// By `lock add` and an `mfence` behind it, so that nothing begins until the line is there: the
    /// latency of its transfer, or of its upgrade from shared to exclusive.
    AddFenced,
}

impl AcquireWay {
    /// The ways, for callers that try them all.
    pub const ALL: [AcquireWay; 3] = [AcquireWay::Store, AcquireWay::Add, AcquireWay::AddFenced];
}

/// How it is fetched before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fetched {
    /// Not at all.
    Not,
    /// By `prefetcht0`, as for a load.
    ToRead,
    /// By `prefetchw`. It is a no-op on a CPU without it: ask
    /// [`Features::prefetchw`](crate::cpu::Features::prefetchw) before measuring it.
    ToWrite,
}

/// Writes the first word of one line after the other, in an order without a stride, round and
/// round. An operation is a line.
#[derive(Debug)]
pub struct AcquireLines<'m> {
    words: &'m [AtomicU64],
    way: AcquireWay,
    fetched: Fetched,
    lines: usize,
    /// Byte offset of the next line.
    at: usize,
}

impl<'m> AcquireLines<'m> {
    /// Writes to `lines` lines, a power of two, [`APART`] lines apart. `None` if it is none, or if
    /// the words are too few.
    pub fn new(
        words: &'m [AtomicU64],
        lines: usize,
        way: AcquireWay,
        fetched: Fetched,
    ) -> Option<Self> {
        let span = lines.checked_mul(APART * LINE)?;
        (lines.is_power_of_two() && size_of_val(words) >= span).then_some(AcquireLines {
            words,
            way,
            fetched,
            lines,
            at: 0,
        })
    }

    /// Bytes of the places of all lines, a power of two.
    fn span(&self) -> usize {
        self.lines * APART * LINE
    }

    /// The place that is `turns` turns after the one at `at`.
    fn after(&self, at: usize, turns: usize) -> usize {
        (at + turns * STEP * APART * LINE) % self.span()
    }
}

fn takes(way: AcquireWay, fetched: Fetched) -> Assembled<Takes> {
    assembled!(match (way, fetched) {
        (AcquireWay::Store, Fetched::Not) => linefill_take_store,
        (AcquireWay::Store, Fetched::ToRead) => linefill_take_store_t0,
        (AcquireWay::Store, Fetched::ToWrite) => linefill_take_store_w,
        (AcquireWay::Add, Fetched::Not) => linefill_take_add,
        (AcquireWay::Add, Fetched::ToRead) => linefill_take_add_t0,
        (AcquireWay::Add, Fetched::ToWrite) => linefill_take_add_w,
        (AcquireWay::AddFenced, Fetched::Not) => linefill_take_fenced,
        (AcquireWay::AddFenced, Fetched::ToRead) => linefill_take_fenced_t0,
        (AcquireWay::AddFenced, Fetched::ToWrite) => linefill_take_fenced_w,
    })
}

impl Kernel for AcquireLines<'_> {
    /// Returns the byte offset of the line that would be next. All stores have left the core then.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let lines: *const AtomicU64 = self.words.as_ptr();
            let (step, ahead) = (self.after(0, 1) as u64, self.after(0, AHEAD) as u64);
            let (first, mask) = (self.at as u64, self.span() as u64 - 1);
            // SAFETY: `new` has seen to it that the words reach over all offsets up to the mask;
            // those that come up are multiples of a line, so that each is an atomic word, which may
            // be written through a shared reference, and is only accessed by whole aligned
            // instructions.
            let next = unsafe {
                (takes(self.way, self.fetched).call)(
                    lines.cast_mut().cast(),
                    operations,
                    first,
                    mask,
                    step,
                    ahead,
                )
            };
            self.at = next as usize;
        }
        mfence();
        self.at as u64
    }

    fn work(&self) -> Work {
        let loads = u32::from(self.way != AcquireWay::Store);
        Work::default().load(loads, 8).store(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for left in (1..=operations).rev() {
            if self.fetched != Fetched::Not {
                sink(Access::prefetch(self.after(self.at, AHEAD)));
            }
            let word = &self.words[self.at / 8];
            let value = match self.way {
                AcquireWay::Store => left,
                AcquireWay::Add | AcquireWay::AddFenced => {
                    sink(Access::load(self.at, 8));
                    word.load(Ordering::Relaxed).wrapping_add(1)
                }
            };
            sink(Access::store(self.at, 8));
            word.store(value, Ordering::Relaxed);
            self.at = self.after(self.at, 1);
        }
        self.at as u64
    }
}

family! {
    /// The shape of the family. Writes one line after the other, `operations` of them, from the one
    /// `first` bytes from `lines` on, each `step` bytes after the one before, modulo `mask` + 1;
    /// prefetches the line `ahead` bytes after it. Returns the offset of the line that would be next.
    ///
    /// # Safety
    /// The words at all offsets that come up are aligned and valid for reads and writes of 8 bytes, by
    /// other threads atomically at most; `operations` is not 0. The lines to be prefetched may lie
    /// anywhere.
    pub type Takes = unsafe extern "sysv64" fn(
        lines: *mut u64,
        operations: u64,
        first: u64,
        mask: u64,
        step: u64,
        ahead: u64,
    ) -> u64;

    /// Stores.
    linefill_take_store
    /// Stores, after `prefetcht0`.
    linefill_take_store_t0
    /// Stores, after `prefetchw`.
    linefill_take_store_w
    /// Adds 1 by `lock add`.
    linefill_take_add
    /// The same after `prefetcht0`.
    linefill_take_add_t0
    /// The same after `prefetchw`.
    linefill_take_add_w
    /// Adds 1 by `lock add`, and waits by `mfence`.
    linefill_take_fenced
    /// The same after `prefetcht0`.
    linefill_take_fenced_t0
    /// The same after `prefetchw`.
    linefill_take_fenced_w
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use super::takes;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{AcquireLines, AcquireWay, Fetched};

    impl Oracle<'_, '_> {
        pub(crate) fn takes(&mut self) {
            for way in AcquireWay::ALL {
                for fetched in [Fetched::Not, Fetched::ToRead, Fetched::ToWrite] {
                    let name = takes(way, fetched).name;
                    self.check(name, [1, 2, 64, 512], |&lines, memory, then| {
                        let words = memory.into_atomics();
                        then(&mut AcquireLines::new(words, lines, way, fetched)?)
                    });
                }
            }
        }
    }
}
