//! A line that threads hand to each other: the round trip between cores.

// Calls assembly with the address of an atomic word.
#![allow(unsafe_code)]

use crate::kernel::{Access, Assembled, Kernel, Work};
use core::sync::atomic::{AtomicU64, Ordering};

/// How a thread waits for the token and passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// By loads, then a store: the line is shared first, and then owned.
    Store,
    /// By `lock cmpxchg`, which owns the line each time it looks.
    CompareExchange,
}

impl Way {
    fn kernel(self) -> Assembled<Turns> {
        assembled!(match self {
            Way::Store => linefill_roundtrip_store,
            Way::CompareExchange => linefill_roundtrip_compare,
        })
    }
}

/// A thread's part in a ring that hands a token around. An operation is a turn: it waits for the
/// token and passes it on, so that it takes as long as the token takes around the ring.
///
/// All threads of a ring must run at once, and do equally many operations: each waits for the
/// others.
#[derive(Debug)]
pub struct RoundTrip<'m> {
    word: &'m AtomicU64,
    at: usize,
    awaited: u64,
    threads: u64,
    way: Way,
}

impl<'m> RoundTrip<'m> {
    /// The thread `index` of `threads` that share the token `words[word]`, which is 0 before the
    /// first turn. `None` if there is no such word or thread.
    pub fn new(
        words: &'m [AtomicU64],
        word: usize,
        index: usize,
        threads: usize,
        way: Way,
    ) -> Option<Self> {
        if index >= threads {
            return None;
        }
        Some(RoundTrip {
            word: words.get(word)?,
            at: word * size_of::<AtomicU64>(),
            awaited: index as u64,
            threads: threads as u64,
            way,
        })
    }
}

impl Kernel for RoundTrip<'_> {
    /// Returns the value of the token at its next turn.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.awaited;
        }
        let (at, threads) = (self.word.as_ptr(), self.threads);
        // SAFETY: an atomic word is aligned, may be written through a shared reference, and is
        // only accessed by whole aligned instructions.
        self.awaited = unsafe { (self.way.kernel().call)(at, operations, self.awaited, threads) };
        self.awaited
    }

    fn work(&self) -> Work {
        Work::default().load(1, 8).store(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            sink(Access::load(self.at, 8));
            sink(Access::store(self.at, 8));
            self.word
                .store(self.awaited.wrapping_add(1), Ordering::Relaxed);
            self.awaited = self.awaited.wrapping_add(self.threads);
        }
        self.awaited
    }
}

family! {
    /// The shape of the family: waits until the word at `at` is `awaited`, and makes it the next number,
    /// `operations` times, `awaited` growing by `threads` each time; returns what it would wait for
    /// next.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes, by other threads atomically at
    /// most; `operations` is not 0. Does not return unless others make the word what is awaited.
    pub type Turns =
        unsafe extern "sysv64" fn(at: *mut u64, operations: u64, awaited: u64, threads: u64) -> u64;

    /// By loads, then a store.
    linefill_roundtrip_store
    /// By `lock cmpxchg` alone.
    linefill_roundtrip_compare
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{RoundTrip, RoundTripWay};

    impl Oracle<'_, '_> {
        pub(crate) fn roundtrips(&mut self) {
            for way in [RoundTripWay::Store, RoundTripWay::CompareExchange] {
                let name = way.kernel().name;
                self.check(name, [0, 9, 511], |&word, mut memory, then| {
                    memory.set_word(8 * word, 0);
                    then(&mut RoundTrip::new(memory.into_atomics(), word, 0, 1, way)?)
                });
            }
        }
    }
}
