//! Increments of a word that other threads increment as well (Sestoft, section 4.2; Drepper,
//! Figures 6.10 and 6.11).

// Calls assembly with the address of an atomic word.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};

use super::x86_64::asm::{increment as asm, lock};
use super::{Access, Kernel, Work};

/// How the word is incremented: the rows of Sestoft's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// `add [word], 1`: not atomic, so that increments get lost.
    Plain,
    /// `lock xadd`: Java's `getAndIncrement`.
    FetchAdd,
    /// A load and `lock cmpxchg`, again until it succeeds: Java's `compareAndSet` in a loop.
    CompareExchange,
    /// The word is a spin lock, taken and given back.
    SpinLock,
}

impl Way {
    /// All of them, in the table's order.
    pub const ALL: [Way; 4] = [
        Way::Plain,
        Way::FetchAdd,
        Way::CompareExchange,
        Way::SpinLock,
    ];
}

/// Increments of one word among some that threads share. An operation is an increment, or a turn
/// of the lock.
#[derive(Debug)]
pub struct Increment<'m> {
    words: &'m [AtomicU64],
    index: usize,
    way: Way,
}

impl<'m> Increment<'m> {
    /// Increments of `words[index]`. `None` if there is no such word.
    pub fn new(words: &'m [AtomicU64], index: usize, way: Way) -> Option<Self> {
        (index < words.len()).then_some(Increment { words, index, way })
    }
}

impl Kernel for Increment<'_> {
    /// Returns the word after its last increment, which others may have incremented since; of a
    /// lock, the turns taken.
    fn run(&mut self, operations: u64) -> u64 {
        let word = &self.words[self.index];
        if operations == 0 {
            return match self.way {
                Way::SpinLock => 0,
                _ => word.load(Ordering::Relaxed),
            };
        }
        let at = word.as_ptr();
        // SAFETY: an atomic word is aligned, may be written through a shared reference, and is
        // only accessed by whole aligned instructions. A lock is left free after every turn.
        unsafe {
            match self.way {
                Way::Plain => asm::linefill_increment_plain(at, operations),
                Way::FetchAdd => lock::linefill_lock_add(at.cast(), operations).wrapping_add(1),
                Way::CompareExchange => asm::linefill_increment_compare(at, operations),
                Way::SpinLock => asm::linefill_increment_spin(at, operations),
            }
        }
    }

    fn work(&self) -> Work {
        let (loads, stores) = match self.way {
            Way::Plain | Way::FetchAdd => (1, 1),
            Way::CompareExchange => (2, 1),
            Way::SpinLock => (1, 2),
        };
        Work {
            loads,
            stores,
            bytes_read: 8 * loads,
            bytes_written: 8 * stores,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let at = 8 * self.index;
        let Work { loads, stores, .. } = self.work();
        for _ in 0..operations {
            (0..loads).for_each(|_| sink(Access::load(at, 8)));
            (0..stores).for_each(|_| sink(Access::store(at, 8)));
        }
        // Advances as running would.
        let word = &self.words[self.index];
        match self.way {
            Way::SpinLock => word.store(0, Ordering::Relaxed),
            _ => _ = word.fetch_add(operations, Ordering::Relaxed),
        }
    }
}
