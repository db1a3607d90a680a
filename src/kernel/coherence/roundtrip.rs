//! A line that threads pass to each other: the round trip between cores.

// Calls assembly with the address of an atomic word.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, RoundTripWay, Work};
use core::sync::atomic::{AtomicU64, Ordering};

/// How a thread waits for the token and passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// Loads until the token arrives, then stores: the line is first shared, then owned.
    Store,
    /// `lock cmpxchg`, which takes ownership of the line with every attempt.
    CompareExchange,
}

/// A thread's part in a ring of threads that pass a token around. An operation is a turn: the thread
/// waits for the token and passes it on, so a turn takes as long as the token needs for the ring.
///
/// All threads of a ring must run at the same time and do the same number of operations, because each
/// waits for the others.
#[derive(Debug)]
pub struct RoundTrip<'m> {
    word: &'m AtomicU64,
    at: usize,
    awaited: u64,
    threads: u64,
    way: Way,
}

impl<'m> RoundTrip<'m> {
    /// Creates thread `index` of `threads` threads that share the token `words[word]`, which is 0 before
    /// the first turn. Returns `None` if there is no such word or thread.
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
    /// Returns the value that the token has at this thread's next turn.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.awaited;
        }
        let (at, threads) = (self.word.as_ptr(), self.threads);
        // SAFETY: an atomic word is aligned, may be written through a shared reference, and is
        // only accessed by whole aligned instructions.
        self.awaited = unsafe { (turns(self.way).call)(at, operations, self.awaited, threads) };
        self.awaited
    }

    fn work(&self) -> Work {
        Work::default().load(1, 8).store(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            sink(Access::load(self.at, 8));
            sink(Access::store(self.at, 8));
            self.word.store(self.awaited.wrapping_add(1), Ordering::Relaxed);
            self.awaited = self.awaited.wrapping_add(self.threads);
        }
        self.awaited
    }
}

family! {
    /// The function type of the family: waits until the word at `at` is `awaited` and then makes it
    /// `awaited + 1`, `operations` times; `awaited` grows by `threads` each time. Returns the value to
    /// wait for next.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes; other threads access it only
    /// atomically; `operations` is not 0. Does not return unless other threads write the awaited values.
    pub type Turns =
        unsafe extern "sysv64" fn(at: *mut u64, operations: u64, awaited: u64, threads: u64) -> u64;

    fn turns(way: Way) {
        Way::Store => linefill_roundtrip_store,
        Way::CompareExchange => linefill_roundtrip_compare,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn roundtrips(&mut self) {
        for way in [RoundTripWay::Store, RoundTripWay::CompareExchange] {
            let name = turns(way).name;
            self.check(name, [0, 9, 511], |&word, mut memory, then| {
                memory.set_word(8 * word, 0);
                then(&mut RoundTrip::new(memory.into_atomics(), word, 0, 1, way)?)
            });
        }
    }
}
