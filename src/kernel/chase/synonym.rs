//! One line of memory, read at two addresses.

// Walks from address to address.
#![allow(unsafe_code)]

use crate::kernel::chase::walk::linefill_walk_follow;
use crate::kernel::{Access, Kernel, Work};

/// Two words of one line, each of which holds an address of the other. An operation is a step
/// from one to the other.
///
/// If the two addresses lie in different views of the same page, every step reaches the line by
/// the address that it was not reached by before.
#[derive(Debug)]
pub struct PageAlias<M> {
    /// Keeps the addresses valid.
    _memory: M,
    at: usize,
    /// Whether the next step leaves the second word.
    second: bool,
}

/// Bytes from the first word to the second.
const SECOND: usize = 8;

impl<M> PageAlias<M> {
    /// Writes the two words to the line at `first`, which `second` is another address of, or the
    /// same one.
    ///
    /// # Safety
    /// For as long as `memory` lives, `first` and `second` are addresses of the same readable and
    /// writable line, which nothing else touches, in one view or two.
    pub unsafe fn new(memory: M, first: *mut u8, second: *mut u8) -> Self {
        // SAFETY: the caller vouches for the line; words at 0 and 8 are aligned within it.
        unsafe {
            first.cast::<usize>().write_volatile(second.addr() + SECOND);
            first
                .add(SECOND)
                .cast::<usize>()
                .write_volatile(first.addr());
        }
        // The walk goes by addresses that it finds in memory.
        first.expose_provenance();
        second.expose_provenance();
        PageAlias {
            _memory: memory,
            at: first.addr(),
            second: false,
        }
    }
}

impl<M> Kernel for PageAlias<M> {
    /// Returns 1 if it stopped at the second word, 0 at the first.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // SAFETY: `new` linked the two words with each other, and nothing has written there
            // since.
            self.at = unsafe { linefill_walk_follow(self.at, operations) };
        }
        self.second ^= operations % 2 == 1;
        u64::from(self.at % 64 == SECOND)
    }

    fn work(&self) -> Work {
        Work::default().load(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            sink(Access::load(if self.second { SECOND } else { 0 }, 8));
            self.second = !self.second;
            // SAFETY: as in `run`.
            self.at = unsafe { linefill_walk_follow(self.at, 1) };
        }
        u64::from(self.at % 64 == SECOND)
    }
}
