//! A line that threads hand to each other: the round trip between cores.

// Calls assembly with the address of an atomic word.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU64;

use super::x86_64::asm::roundtrip as asm;
use super::{Access, Kernel, Work};

/// How a thread waits for the token and passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// By loads, then a store: the line is shared first, and then owned.
    Store,
    /// By `lock cmpxchg`, which owns the line each time it looks.
    CompareExchange,
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
        self.awaited = unsafe {
            match self.way {
                Way::Store => asm::linefill_roundtrip_store(at, operations, self.awaited, threads),
                Way::CompareExchange => {
                    asm::linefill_roundtrip_compare(at, operations, self.awaited, threads)
                }
            }
        };
        self.awaited
    }

    fn work(&self) -> Work {
        Work {
            loads: 1,
            stores: 1,
            bytes_read: 8,
            bytes_written: 8,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            sink(Access::load(self.at, 8));
            sink(Access::store(self.at, 8));
            self.awaited = self.awaited.wrapping_add(self.threads);
        }
        let token = self.awaited.wrapping_sub(self.threads).wrapping_add(1);
        if operations > 0 {
            self.word
                .store(token, core::sync::atomic::Ordering::Relaxed);
        }
    }
}
