//! A walk that adds up two words of every element (Drepper, section 6.2.1, Figure 6.2).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::kernel::chase::fields::Stop;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Ring;

/// Bytes of a word.
const WORD: usize = 8;

/// Why two words of a ring's elements cannot be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// `at` is the address of a readable word that holds such an address in turn, for `steps`
    /// steps; the words at both distances are readable; `steps` is not 0.
    pub fn linefill_pair(at: usize, steps: u64, first: isize, second: isize) -> Stop;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::Pair;
    use crate::kernel::verify::Oracle;
    use crate::kernel::verify::ring::PADDED;

    impl Oracle<'_, '_> {
        pub(crate) fn pairs(&mut self) {
            let cases = PADDED.into_iter().flat_map(|ring| {
                let last = ring.layout.padding();
                [[0, last], [last, 1], [last, last]].map(|words| (ring, words))
            });
            self.check("linefill_pair", cases, |&(ring, words), memory, then| {
                then(&mut Pair::new(ring.build(memory)?, words).ok()?)
            });
        }
    }
}
