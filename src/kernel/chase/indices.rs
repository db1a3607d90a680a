//! Array elements selected by indices: Sestoft's memory latency loop (note A.1), `k = a[k]`, and two
//! words of each array element that a list of indices picks (Drepper, section 6.2.1, Figure 6.3).

// Calls assembly with elements that the chain or the picks vouch for.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::WORD;
use crate::pattern::{Chain, Fill, Order, Picks};

/// A walk along an array of indices. An operation is one `k = a[k]`.
#[derive(Debug)]
pub struct IndexChase<'m> {
    chain: Chain<'m>,
    checked: bool,
}

impl<'m> IndexChase<'m> {
    /// Creates a walk that begins at the chain's cursor and does not check its indices.
    pub fn new(chain: Chain<'m>) -> Self {
        IndexChase { chain, checked: false }
    }

    /// Returns the same walk with each index checked against the array's length, as Java and safe Rust
    /// do.
    pub fn checked(self) -> Self {
        IndexChase { checked: true, ..self }
    }
}

impl Kernel for IndexChase<'_> {
    /// Returns the index at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return u64::from(self.chain.cursor());
        }
        let slots = self.chain.slots();
        let base = slots.as_ptr();
        let from = u64::from(self.chain.cursor());
        // SAFETY: `base` points to the chain's slots; each slot and the cursor hold an index inside
        // the slots.
        let stopped = unsafe {
            if self.checked {
                linefill_jump_checked(base, from, operations, slots.len() as u64)
            } else {
                linefill_jump(base, from, operations)
            }
        };
        self.chain.set_cursor(stopped as u32);
        stopped
    }

    fn work(&self) -> Work {
        Work::default().load(1, 4)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let at = self.chain.cursor() as usize;
            sink(Access::load(at * 4, 4));
            self.chain.set_cursor(self.chain.slots()[at]);
        }
        self.chain.cursor().into()
    }
}

unsafe extern "sysv64" {
    /// `index = slots[index]`, `steps` times; returns the last index.
    ///
    /// # Safety
    /// `index` and all indices reached from it lie inside the slots; `steps` is not 0.
    pub fn linefill_jump(slots: *const u32, index: u64, steps: u64) -> u64;

    /// Like [`linefill_jump`], with each index compared with `len` before its use.
    ///
    /// # Safety
    /// As for [`linefill_jump`]; an index of `len` or more ends in `ud2`.
    pub fn linefill_jump_checked(slots: *const u32, index: u64, steps: u64, len: u64) -> u64;
}

const INDEX: usize = 4;

/// Adds up the first and the last word of every picked element, round and round. An operation is a
/// pick: it loads an index and both words, and stores nothing. No pick waits for another.
#[derive(Debug)]
pub struct Gather<'m> {
    picks: Picks<'m>,
    next: usize,
}

impl<'m> Gather<'m> {
    /// Creates the kernel; the first pick is the first index.
    pub fn new(picks: Picks<'m>) -> Self {
        Gather { picks, next: 0 }
    }

    fn advance(&mut self, picks: usize) {
        self.next = (self.next + picks) % self.picks.count();
    }
}

impl Kernel for Gather<'_> {
    /// Returns the wrapping sum of the words.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        let mut left = operations;
        while left > 0 {
            let picks = left.min((self.picks.count() - self.next) as u64);
            let bytes = self.picks.region().bytes();
            let first = bytes[self.picks.first()..].as_ptr();
            let indices = bytes[self.next * INDEX..].as_ptr();
            let second = self.picks.element() - WORD;
            // SAFETY: `picks` indices are left in the borrowed region, each of which selects an
            // element inside it (`Picks` has checked that); `second` is the element's last word.
            let part = unsafe { linefill_pick(first, indices, picks, second) };
            sum = sum.wrapping_add(part);
            self.advance(picks as usize);
            left -= picks;
        }
        sum
    }

    fn work(&self) -> Work {
        Work::default().load(2, WORD as u32).load(1, INDEX as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let element = self.picks.place(self.next);
            let last = element + self.picks.element() - WORD;
            sink(Access::load(self.next * INDEX, INDEX as u32));
            for place in [element, last] {
                sink(Access::load(place, WORD as u32));
                sum = sum.wrapping_add(self.picks.region().word(place));
            }
            self.advance(1);
        }
        sum
    }
}

unsafe extern "sysv64" {
    /// Adds up two words of each of `picks` elements: the first word, and the word `second` bytes after it.
    ///
    /// # Safety
    /// `indices` is the address of `picks` indices of 4 bytes; for each index `i`, the words `8 * i` and
    /// `8 * i + second` bytes after `first` are readable; `picks` is not 0.
    pub fn linefill_pick(first: *const u8, indices: *const u8, picks: u64, second: usize) -> u64;
}

impl Oracle<'_, '_> {
    pub(crate) fn jumps(&mut self) {
        let chains = [
            (1, Fill::Sequential),
            (1000, Fill::Sequential),
            (1000, Fill::Stride(33)),
            (1000, Fill::RandomFunction { seed: 7 }),
            (1000, Fill::Permutation { seed: 8 }),
            (30_000, Fill::Cycle { seed: 9 }),
        ];
        self.check("linefill_jump", chains, |&(size, fill), memory, then| {
            then(&mut IndexChase::new(Chain::new(memory, size, fill).ok()?))
        });
        self.check("linefill_jump_checked", chains, |&(size, fill), memory, then| {
            then(&mut IndexChase::new(Chain::new(memory, size, fill).ok()?).checked())
        });
    }

    pub(crate) fn picks(&mut self) {
        let shapes = [(8, 1), (16, 7), (64, 300), (72, 300)];
        let orders = [Order::Sequential, Order::Random { seed: 9 }];
        let cases = shapes.into_iter().flat_map(|shape| orders.map(|order| (shape, order)));
        self.check("linefill_pick", cases, |&((element, count), order), memory, then| {
            then(&mut Gather::new(Picks::new(memory, element, count, order).ok()?))
        });
    }
}
