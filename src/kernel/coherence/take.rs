//! Lines that a core takes from another core in order to write them (Drepper, section 6.3.2: `prefetchw`).

// Calls assembly with addresses of atomic words.
#![allow(unsafe_code)]

use crate::cpu::mfence;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::LINE;
use core::sync::atomic::{AtomicU64, Ordering};

/// Distance in lines between neighbouring written lines, so that no prefetcher fetches a written line as
/// a neighbour.
pub const APART: usize = 4;

/// Places from one turn to the next: odd, so that every one of a power of two of places is visited.
const STEP: usize = 37;

/// Turns from the prefetch of a line to its write.
const AHEAD: usize = 8;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireWay {
    /// A store, which waits in the store queue until the line arrives.
    Store,
    /// `lock add`. Zen 5 executes it speculatively and overlaps consecutive ones, so that a sequence of
    /// them shows their throughput.
    Add,
    /// `lock add` and then `mfence`, so that nothing begins until the line arrives: the latency of the
    /// line's transfer, or of its upgrade from shared to exclusive.
    AddFenced,
}

impl AcquireWay {
    /// All ways.
    pub const ALL: [AcquireWay; 3] = [AcquireWay::Store, AcquireWay::Add, AcquireWay::AddFenced];
}

/// How a line is prefetched before the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fetched {
    /// No prefetch.
    Not,
    /// `prefetcht0`, as for a load.
    ToRead,
    /// `prefetchw`. It is a no-op on a CPU without it: check
    /// [`Features::prefetchw`](crate::cpu::Features::prefetchw) before measuring it.
    ToWrite,
}

/// Writes the first word of lines, one line after the other, in an order without a stride, round and
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
    /// Creates the kernel for `lines` lines, [`APART`] lines apart. Returns `None` if `lines` is not a
    /// power of two, or if there are too few words.
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

    /// Bytes that the places of all lines span, a power of two.
    fn span(&self) -> usize {
        self.lines * APART * LINE
    }

    /// Returns the byte offset of the place `turns` turns after `at`.
    fn after(&self, at: usize, turns: usize) -> usize {
        (at + turns * STEP * APART * LINE) % self.span()
    }
}

impl Kernel for AcquireLines<'_> {
    /// Returns the byte offset of the next line. All stores have left the core on return.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let lines: *const AtomicU64 = self.words.as_ptr();
            let (step, ahead) = (self.after(0, 1) as u64, self.after(0, AHEAD) as u64);
            let (first, mask) = (self.at as u64, self.span() as u64 - 1);
            // SAFETY: `new` has checked that the words cover all offsets up to the mask; the offsets
            // used are multiples of a line, so that each is an atomic word, which may be written
            // through a shared reference, and is only accessed by whole aligned instructions.
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
    /// The function type of the family: writes `operations` lines, one after the other. The first is
    /// `first` bytes from `lines`, each next one `step` bytes further, modulo `mask` + 1. Prefetches the
    /// line `ahead` bytes after each. Returns the offset of the next line.
    ///
    /// # Safety
    /// The words at all offsets reached are aligned and valid for reads and writes of 8 bytes; other
    /// threads access them only atomically; `operations` is not 0. The prefetched lines may be at any
    /// address.
    pub type Takes = unsafe extern "sysv64" fn(
        lines: *mut u64,
        operations: u64,
        first: u64,
        mask: u64,
        step: u64,
        ahead: u64,
    ) -> u64;

    fn takes(way: AcquireWay, fetched: Fetched) {
        (AcquireWay::Store, Fetched::Not) => linefill_take_store,
        (AcquireWay::Store, Fetched::ToRead) => linefill_take_store_t0,
        (AcquireWay::Store, Fetched::ToWrite) => linefill_take_store_w,
        (AcquireWay::Add, Fetched::Not) => linefill_take_add,
        (AcquireWay::Add, Fetched::ToRead) => linefill_take_add_t0,
        (AcquireWay::Add, Fetched::ToWrite) => linefill_take_add_w,
        (AcquireWay::AddFenced, Fetched::Not) => linefill_take_fenced,
        (AcquireWay::AddFenced, Fetched::ToRead) => linefill_take_fenced_t0,
        (AcquireWay::AddFenced, Fetched::ToWrite) => linefill_take_fenced_w,
    }
}

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
