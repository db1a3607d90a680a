//! Lines visited in a given order, some of them again: which one a full set gives up shows in the
//! time of a round.

// Calls assembly with an address that the visits vouch for.
#![allow(unsafe_code)]

use crate::kernel::chase::walk as asm;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Visits;

/// Bytes of a word.
const WORD: u32 = 8;

/// Dependent loads along [`Visits`]. An operation is a load.
#[derive(Debug)]
pub struct Revisit<'m> {
    visits: Visits<'m>,
}

impl<'m> Revisit<'m> {
    /// Loads that begin at the cursor.
    pub fn new(visits: Visits<'m>) -> Self {
        Revisit { visits }
    }
}

impl Kernel for Revisit<'_> {
    /// Returns the byte offset at which it stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.visits.cursor();
        if operations > 0 {
            // SAFETY: the cursor is a word of the visits, whose region is borrowed, and every such
            // word holds the address of another.
            let stopped = unsafe { asm::linefill_walk_follow(at, operations) };
            self.visits.set_cursor(stopped);
        }
        self.visits.offset(self.visits.cursor()) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1, WORD)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let at = self.visits.cursor();
            sink(Access::load(self.visits.offset(at), WORD));
            let next = self.visits.next(at);
            self.visits.set_cursor(next);
        }
        self.visits.offset(self.visits.cursor()) as u64
    }
}
