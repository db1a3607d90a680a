//! Code that is timed for its own sake: its fetch, its decoding, its branches.

// Calls code that was made at run time.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Listing;

/// A function of the System V calling convention with one argument.
pub type Function = unsafe extern "sysv64" fn(u64) -> u64;

/// A [`Listing`] in executable memory. An operation is a round through its body.
#[derive(Debug)]
pub struct Routine<M> {
    /// Keeps the memory executable.
    memory: M,
    entry: fn(&M) -> Function,
    listing: Listing,
}

impl<M> Routine<M> {
    /// The listing that was written to `memory`, and where it begins.
    ///
    /// # Safety
    /// For as long as `memory` lives, `entry` returns the address of executable memory that
    /// holds what [`listing.write`](Listing::write) writes.
    pub unsafe fn new(memory: M, entry: fn(&M) -> Function, listing: Listing) -> Self {
        Routine {
            memory,
            entry,
            listing,
        }
    }
}

impl<M> Kernel for Routine<M> {
    /// Returns the rounds done, as the code counted them.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let function = (self.entry)(&self.memory);
        // SAFETY: `new`'s caller vouches for the code, which takes a number of rounds other than
        // 0, touches no memory but its stack and keeps to the convention.
        unsafe { function(operations) }
    }

    fn work(&self) -> Work {
        Work {
            instructions: self.listing.instructions(),
            ..Work::default()
        }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}
