//! A walk that adds up two words of every element (Drepper, section 6.2.1, Figure 6.2).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use super::x86_64::asm::pair as asm;
use super::{Access, Kernel, Work};
use crate::pattern::Ring;

/// Bytes of a word.
const WORD: usize = 8;

/// Why two words of a ring's elements cannot be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairError {
    /// The element has no such word.
    NoSuchWord {
        /// The word asked for.
        word: usize,
        /// Words in an element.
        words: usize,
    },
}

impl core::fmt::Display for PairError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let PairError::NoSuchWord { word, words } = self;
        write!(
            f,
            "an element of {words} words has no word {word}; words are 0 to {}",
            words - 1
        )
    }
}

impl core::error::Error for PairError {}

/// A walk along a ring that adds up the same two words of every element. An operation is a step:
/// both words and the pointer are loaded, nothing is stored.
#[derive(Debug)]
pub struct Pair<'m> {
    ring: Ring<'m>,
    words: [usize; 2],
}

impl<'m> Pair<'m> {
    /// A walk that begins at the ring's cursor and adds up the two `words` of each element,
    /// counted from 0.
    ///
    /// # Errors
    /// If the elements do not have one of them.
    pub fn new(ring: Ring<'m>, words: [usize; 2]) -> Result<Self, PairError> {
        let there = ring.layout().element() / WORD;
        match words.into_iter().find(|&word| word >= there) {
            Some(word) => Err(PairError::NoSuchWord { word, words: there }),
            None => Ok(Pair { ring, words }),
        }
    }

    /// The ring, at the element where the walk stopped.
    pub fn into_ring(self) -> Ring<'m> {
        self.ring
    }

    /// Bytes from an element's pointer word to each of the words that are added up.
    fn distances(&self) -> [isize; 2] {
        let pointer = self.ring.layout().pointer_offset() as isize;
        self.words.map(|word| (word * WORD) as isize - pointer)
    }
}

impl Kernel for Pair<'_> {
    /// Returns the wrapping sum of the words added up.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let [first, second] = self.distances();
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every pointer
        // word holds the address of another; `new` has seen to it that both words lie in each
        // element.
        let stop = unsafe { asm::linefill_pair(self.ring.cursor(), operations, first, second) };
        self.ring.set_cursor(stop.at);
        stop.sum
    }

    fn work(&self) -> Work {
        Work {
            loads: 3,
            bytes_read: 3 * WORD as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let distances = self.distances();
        for _ in 0..operations {
            let at = self.ring.cursor();
            let here = self.ring.offset(at);
            for distance in distances {
                sink(Access::load(
                    here.wrapping_add_signed(distance),
                    WORD as u32,
                ));
            }
            sink(Access::load(here, WORD as u32));
            self.ring.set_cursor(self.ring.next(at));
        }
    }
}
