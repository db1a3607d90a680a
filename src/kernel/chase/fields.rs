//! Walks that read several words of an element (Drepper, sections 3.5.2 and 6.2.1): every word of a
//! line in ascending or descending order (critical word first, and the order of fields), and any two
//! words (Figure 6.2).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::kernel::verify::{Oracle, PADDED, lines};
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, WORD};
use crate::pattern::Ring;

/// Byte offset of the last word of a line.
const LAST: usize = LINE - WORD;

/// The order in which the words of an element are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// From word 0 to word 7.
    Ascending,
    /// From word 7 to word 0.
    Descending,
}

/// Why the fields of a ring's elements cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldsError {
    /// An element has this many bytes instead of 64.
    Element(usize),
    /// The pointer is at this byte: neither the first nor the last word.
    Pointer(usize),
}

messages! { FieldsError:
    FieldsError::Element(bytes) => ("elements have {bytes} bytes; {LINE} are needed");
    FieldsError::Pointer(byte) => ("the pointer is at byte {byte}; 0 or {LAST} is needed");
}

/// A walk along a ring that reads all 8 words of every element. An operation is a step.
#[derive(Debug)]
pub struct Fields<'m> {
    ring: Ring<'m>,
    direction: Direction,
}

impl<'m> Fields<'m> {
    /// Creates a walk that begins at the ring's cursor.
    ///
    /// # Errors
    /// If the elements are not 64 bytes, or their pointer is neither the first nor the last word.
    pub fn new(ring: Ring<'m>, direction: Direction) -> Result<Self, FieldsError> {
        let layout = ring.layout();
        if layout.element() != LINE {
            return Err(FieldsError::Element(layout.element()));
        }
        if ![0, LAST].contains(&layout.pointer_offset()) {
            return Err(FieldsError::Pointer(layout.pointer_offset()));
        }
        Ok(Fields { ring, direction })
    }
}

impl Kernel for Fields<'_> {
    /// Returns the wrapping sum of all words read, the pointers included.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let walk = walk(self.ring.layout().pointer_offset() == 0, self.direction).call;
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every pointer
        // word holds the address of another; `new` has checked that elements have 8 words and
        // that the pointer is the first or the last, as the chosen kernel expects.
        let stop = unsafe { walk(self.ring.cursor(), operations) };
        self.ring.set_cursor(stop.at);
        stop.sum
    }

    fn work(&self) -> Work {
        Work::default().load((LINE / WORD) as u32, WORD as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let at = self.ring.cursor();
            let element = at - self.ring.layout().pointer_offset();
            for index in 0..LINE / WORD {
                let place = match self.direction {
                    Direction::Ascending => element + index * WORD,
                    Direction::Descending => element + LAST - index * WORD,
                };
                sink(Access::load(self.ring.offset(place), WORD as u32));
                sum = sum.wrapping_add(self.ring.word(place));
            }
            self.ring.set_cursor(self.ring.next(at));
        }
        sum
    }
}

/// The return value of this family's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Stop {
    /// Address of the pointer word after the last step.
    pub at: usize,
    /// Wrapping sum of all words read.
    pub sum: u64,
}

family! {
    /// The function type of the family: walks `steps` steps and reads the 8 words of every element.
    ///
    /// # Safety
    /// `at` is the address of the pointer word of a 64-byte element: the element's first or last word, as
    /// the kernel's name says. All of the element is readable, and the pointer word holds the address of
    /// another such word, for `steps` steps; `steps` is not 0.
    pub type Walks = unsafe extern "sysv64" fn(at: usize, steps: u64) -> Stop;

    /// Returns the kernel for elements whose pointer is the first word, or the last.
    fn walk(first: bool, direction: Direction) {
        (true, Direction::Ascending) => linefill_fields_first_ascending,
        (true, Direction::Descending) => linefill_fields_first_descending,
        (false, Direction::Ascending) => linefill_fields_last_ascending,
        (false, Direction::Descending) => linefill_fields_last_descending,
    }
}

/// Why two words of a ring's elements cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TwoFieldsError {
    /// The element has no such word.
    NoSuchWord {
        /// The requested word.
        word: usize,
        /// Words per element.
        words: usize,
    },
}

messages! { TwoFieldsError:
    TwoFieldsError::NoSuchWord { word, words } => (
        "an element of {words} words has no word {word}; words are 0 to {}", words - 1
    );
}

/// A walk along a ring that adds up the same two words of every element. An operation is a step: it
/// loads both words and the pointer, and stores nothing.
#[derive(Debug)]
pub struct TwoFields<'m> {
    ring: Ring<'m>,
    words: [usize; 2],
}

impl<'m> TwoFields<'m> {
    /// Creates a walk that begins at the ring's cursor and adds up the two `words` of each element,
    /// counted from 0.
    ///
    /// # Errors
    /// If the elements lack one of the words.
    pub fn new(ring: Ring<'m>, words: [usize; 2]) -> Result<Self, TwoFieldsError> {
        let there = ring.layout().element() / WORD;
        match words.into_iter().find(|&word| word >= there) {
            Some(word) => Err(TwoFieldsError::NoSuchWord { word, words: there }),
            None => Ok(TwoFields { ring, words }),
        }
    }

    /// Distances in bytes from an element's pointer word to the two words.
    fn distances(&self) -> [isize; 2] {
        let pointer = self.ring.layout().pointer_offset() as isize;
        self.words.map(|word| (word * WORD) as isize - pointer)
    }
}

impl Kernel for TwoFields<'_> {
    /// Returns the wrapping sum of the words.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let [first, second] = self.distances();
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every pointer
        // word holds the address of another; `new` has checked that both words lie in each
        // element.
        let stop = unsafe { linefill_pair(self.ring.cursor(), operations, first, second) };
        self.ring.set_cursor(stop.at);
        stop.sum
    }

    fn work(&self) -> Work {
        Work::default().load(3, WORD as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let at = self.ring.cursor();
            for distance in self.distances() {
                let place = at.wrapping_add_signed(distance);
                sink(Access::load(self.ring.offset(place), WORD as u32));
                sum = sum.wrapping_add(self.ring.word(place));
            }
            sink(Access::load(self.ring.offset(at), WORD as u32));
            self.ring.set_cursor(self.ring.next(at));
        }
        sum
    }
}

unsafe extern "sysv64" {
    /// Adds up the words `first` and `second` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds the address of another such word, for `steps`
    /// steps; the words at both distances are readable; `steps` is not 0.
    pub fn linefill_pair(at: usize, steps: u64, first: isize, second: isize) -> Stop;
}

impl Oracle<'_, '_> {
    pub(crate) fn fields(&mut self) {
        for word in [0, 7] {
            for direction in [Direction::Ascending, Direction::Descending] {
                let name = walk(word == 0, direction).name;
                self.check(name, lines(word), |ring, memory, then| {
                    then(&mut Fields::new(ring.build(memory)?, direction).ok()?)
                });
            }
        }
    }

    pub(crate) fn pairs(&mut self) {
        let cases = PADDED.into_iter().flat_map(|ring| {
            let last = ring.layout.padding();
            [[0, last], [last, 1], [last, last]].map(|words| (ring, words))
        });
        self.check("linefill_pair", cases, |&(ring, words), memory, then| {
            then(&mut TwoFields::new(ring.build(memory)?, words).ok()?)
        });
    }
}
