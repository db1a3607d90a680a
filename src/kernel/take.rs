//! Lines that are taken from another core to be written (Drepper, section 6.3.2: `prefetchw`).

// Calls assembly with the address of atomic words.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU64;

use super::x86_64::asm::take as asm;
use super::{Access, Kernel, Work};
use crate::cpu::mfence;
use crate::mem::LINE;

/// Lines from one that is written to the next in address order, so that no prefetcher fetches
/// neighbours along.
pub const APART: usize = 4;

/// Of so many places, the next in turn is this many further on: odd, so that all come up.
const STEP: usize = 37;

/// Turns from a prefetch to the write.
const AHEAD: usize = 8;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TakeWay {
    /// By a store, which waits in the store queue until the line is there.
    Store,
    /// By `lock add`, which lets nothing pass until the line is there.
    Add,
}

/// How it is fetched before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub struct TakeLines<'m> {
    words: &'m [AtomicU64],
    way: TakeWay,
    fetched: Fetched,
    lines: usize,
    /// Byte offset of the next line.
    at: usize,
}

impl<'m> TakeLines<'m> {
    /// Writes to `lines` lines, a power of two, [`APART`] lines apart. `None` if it is none, or if
    /// the words are too few.
    pub fn new(
        words: &'m [AtomicU64],
        lines: usize,
        way: TakeWay,
        fetched: Fetched,
    ) -> Option<Self> {
        let span = lines.checked_mul(APART * LINE)?;
        (lines.is_power_of_two() && size_of_val(words) >= span).then_some(TakeLines {
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

    fn takes(&self) -> asm::Takes {
        match (self.way, self.fetched) {
            (TakeWay::Store, Fetched::Not) => asm::linefill_take_store,
            (TakeWay::Store, Fetched::ToRead) => asm::linefill_take_store_t0,
            (TakeWay::Store, Fetched::ToWrite) => asm::linefill_take_store_w,
            (TakeWay::Add, Fetched::Not) => asm::linefill_take_add,
            (TakeWay::Add, Fetched::ToRead) => asm::linefill_take_add_t0,
            (TakeWay::Add, Fetched::ToWrite) => asm::linefill_take_add_w,
        }
    }
}

impl Kernel for TakeLines<'_> {
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
                self.takes()(
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
        let loads = u32::from(self.way == TakeWay::Add);
        Work {
            loads,
            stores: 1,
            bytes_read: 8 * loads,
            bytes_written: 8,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            if self.fetched != Fetched::Not {
                sink(Access::prefetch(self.after(self.at, AHEAD)));
            }
            if self.way == TakeWay::Add {
                sink(Access::load(self.at, 8));
            }
            sink(Access::store(self.at, 8));
            self.at = self.after(self.at, 1);
        }
    }
}
