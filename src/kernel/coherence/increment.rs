//! Increments of a word that other threads increment as well (Sestoft, section 4.2; Drepper,
//! Figures 6.10 and 6.11).

// Calls assembly with the address of an atomic word.
#![allow(unsafe_code)]

use crate::kernel::stores::lock;
use crate::kernel::{Access, Kernel, Work};
use core::sync::atomic::{AtomicU64, Ordering};

/// How the word is incremented: the rows of Sestoft's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
                Way::Plain => linefill_increment_plain(at, operations),
                Way::FetchAdd => lock::linefill_lock_add(at.cast(), operations).wrapping_add(1),
                Way::CompareExchange => linefill_increment_compare(at, operations),
                Way::SpinLock => linefill_increment_spin(at, operations),
            }
        }
    }

    fn work(&self) -> Work {
        match self.way {
            Way::Plain | Way::FetchAdd => Work::default().load(1, 8).store(1, 8),
            Way::CompareExchange => Work::default().load(2, 8).store(1, 8),
            Way::SpinLock => Work::default().load(1, 8).store(2, 8),
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let (word, at) = (&self.words[self.index], 8 * self.index);
        let Work { loads, stores, .. } = self.work();
        for _ in 0..operations {
            (0..loads).for_each(|_| sink(Access::load(at, 8)));
            (0..stores).for_each(|_| sink(Access::store(at, 8)));
            match self.way {
                Way::SpinLock => word.store(0, Ordering::Relaxed),
                _ => _ = word.fetch_add(1, Ordering::Relaxed),
            }
        }
        match self.way {
            Way::SpinLock => operations,
            _ => word.load(Ordering::Relaxed),
        }
    }
}

unsafe extern "sysv64" {
    /// Adds 1 to the word at `at` by one instruction that is not atomic, `operations` times;
    /// returns the word after the last one.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes, by other threads atomically at
    /// most; `operations` is not 0.
    pub fn linefill_increment_plain(at: *mut u64, operations: u64) -> u64;

    /// Adds 1 to the word at `at` by `lock cmpxchg`, again until it succeeds, `operations` times;
    /// returns the word after the last one.
    ///
    /// # Safety
    /// As [`linefill_increment_plain`].
    pub fn linefill_increment_compare(at: *mut u64, operations: u64) -> u64;

    /// Takes the lock at `at`, 0 while it is free, by `xchg`, and gives it back by a store,
    /// `operations` times; returns `operations`.
    ///
    /// # Safety
    /// As [`linefill_increment_plain`]; whoever makes the word something other than 0 makes it 0
    /// again.
    pub fn linefill_increment_spin(at: *mut u64, operations: u64) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{Increment, IncrementWay};

    impl Oracle<'_, '_> {
        pub(crate) fn increments(&mut self) {
            for (name, way) in [
                ("linefill_increment_plain", IncrementWay::Plain),
                ("linefill_increment_compare", IncrementWay::CompareExchange),
                ("linefill_increment_spin", IncrementWay::SpinLock),
            ] {
                self.check(name, [0, 7, 8, 515], |&index, mut memory, then| {
                    if way == IncrementWay::SpinLock {
                        memory.set_word(8 * index, 0);
                    }
                    then(&mut Increment::new(memory.into_atomics(), index, way)?)
                });
            }
        }
    }
}
