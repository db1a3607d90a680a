//! Elements of an array that are picked by indices, and two words of each (Drepper, section
//! 6.2.1, Figure 6.3).

// Calls assembly with elements that the indices lead to.
#![allow(unsafe_code)]

use super::x86_64::asm::pick as asm;
use super::{Access, Kernel, Work};
use crate::pattern::Picks;

/// Bytes of a word, and of an index.
const WORD: usize = 8;
const INDEX: usize = 4;

/// Adds up the first and the last word of every element that is picked, again and again. An
/// operation is a pick: an index and both words are loaded, nothing is stored, and no pick waits
/// for another.
#[derive(Debug)]
pub struct Pick<'m> {
    picks: Picks<'m>,
    next: usize,
}

impl<'m> Pick<'m> {
    /// Begins with the first index.
    pub fn new(picks: Picks<'m>) -> Self {
        Pick { picks, next: 0 }
    }

    /// The elements and their indices.
    pub fn into_picks(self) -> Picks<'m> {
        self.picks
    }

    fn advance(&mut self, picks: usize) {
        self.next = (self.next + picks) % self.picks.count();
    }
}

impl Kernel for Pick<'_> {
    /// Returns the wrapping sum of the words added up.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        let mut left = operations;
        while left > 0 {
            let picks = left.min((self.picks.count() - self.next) as u64);
            let bytes = self.picks.region().bytes();
            let first = bytes[self.picks.first()..].as_ptr();
            let indices = bytes[self.next * INDEX..].as_ptr();
            let second = self.picks.element() - WORD;
            // SAFETY: as many indices as are left in the borrowed region, each of which leads to
            // an element inside it (`Picks` has seen to that); `second` is its last word.
            let part = unsafe { asm::linefill_pick(first, indices, picks, second) };
            sum = sum.wrapping_add(part);
            self.advance(picks as usize);
            left -= picks;
        }
        sum
    }

    fn work(&self) -> Work {
        Work {
            loads: 3,
            bytes_read: (2 * WORD + INDEX) as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            let element = self.picks.place(self.next);
            let last = element + self.picks.element() - WORD;
            sink(Access::load(self.next * INDEX, INDEX as u32));
            sink(Access::load(element, WORD as u32));
            sink(Access::load(last, WORD as u32));
            self.advance(1);
        }
    }
}
