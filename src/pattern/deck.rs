//! An array of integers to be shuffled, and the source of its indices (Startin, "Observing memory level
//! parallelism with JMH").

use super::java::{Random, ThreadLocalRandom};
use crate::mem::{LINE, Region, Span};

/// Bytes of an integer, in the array and in the table.
const INT: usize = size_of::<u32>();

/// The source of the index to swap with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Indices {
    /// A table as long as the array, which is read downwards.
    Precomputed,
    /// Java's `ThreadLocalRandom.nextInt(bound)`, at every swap.
    Generated,
}

/// An array of `java.util.Random(0)`'s integers. Before it are a line with the state of a generator, and a
/// buffer for a stage of indices. If indices are precomputed, a table of indices follows the array: entry
/// `i - 1` is drawn uniformly from 0 to `i - 1`.
///
/// Only this type writes the table, so that a kernel that swaps element `i - 1` with the element named by
/// entry `i - 1` stays inside the array.
#[derive(Debug)]
pub struct Deck<'m> {
    region: Region<'m>,
    count: usize,
    indices: Indices,
}

/// The parts of a [`Deck`]'s memory.
pub(crate) struct DeckParts<'a> {
    /// The generator's line.
    pub(crate) generator: &'a mut [u32],
    /// The buffer for a stage.
    pub(crate) buffer: &'a mut [u32],
    /// The array.
    pub(crate) data: &'a mut [u32],
    /// The table; empty if indices are generated.
    pub(crate) table: &'a [u32],
}

/// Why a region cannot hold an array to be shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeckError {
    /// The number of elements, if it is less than 2 or more than a Java array can hold.
    Count(usize),
    /// The region is too small.
    RegionTooSmall {
        /// Bytes needed; `usize::MAX` if the number overflows.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { DeckError:
    DeckError::Count(count) => ("{count} integers cannot be shuffled, 2 to 2^31 - 1 can");
    DeckError::RegionTooSmall { needed, region } => (
        "the integers and their indices need {}, the region has {region}", Span::of(*needed)
    );
}

impl<'m> Deck<'m> {
    /// The maximum number of indices in a stage.
    pub const LONGEST_STAGE: usize = 256;

    /// Bytes of region that `count` integers and their indices need; `usize::MAX` if the number
    /// overflows.
    pub const fn span(count: usize, indices: Indices) -> usize {
        Self::needed(count, indices).bytes()
    }

    const fn needed(count: usize, indices: Indices) -> Span {
        let arrays = match indices {
            Indices::Precomputed => 2,
            Indices::Generated => 1,
        };
        Span::of(Self::DATA).plus(bytes_of(count).times(arrays))
    }

    /// Writes the array, the table from a generator with the seed `seed`, and the generator's state with
    /// the same seed, for kernels that generate indices.
    ///
    /// # Errors
    /// If there are too few or too many integers, or the region is too small.
    pub fn new(
        region: Region<'m>,
        count: usize,
        indices: Indices,
        seed: u64,
    ) -> Result<Self, DeckError> {
        if count < 2 || count > i32::MAX as usize {
            return Err(DeckError::Count(count));
        }
        let too_small = |needed, region| DeckError::RegionTooSmall { needed, region };
        Self::needed(count, indices).within(region.len(), too_small)?;
        let mut deck = Deck { region, count, indices };
        deck.region.set_word(Self::SEED, seed);
        deck.region.set_word(Self::PROBE, 1);
        let mut random = Random::new(0);
        for int in deck.parts().data {
            *int = random.next_int().cast_unsigned();
        }
        if indices == Indices::Precomputed {
            let mut random = ThreadLocalRandom::new(seed);
            let table = deck.table() / INT;
            let ints = deck.region.reborrow().into_u32s();
            for (index, bound) in ints[table..table + count].iter_mut().zip(1..) {
                *index = random.next_int_below(bound);
            }
        }
        Ok(deck)
    }

    /// Number of integers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The source of the indices.
    pub fn indices(&self) -> Indices {
        self.indices
    }

    /// Byte offset of the generator's seed; its [probe](Self::PROBE) follows.
    pub const SEED: usize = 0;

    /// Byte offset of the generator's probe, which is not 0: a thread without one has no seed.
    pub const PROBE: usize = 8;

    /// Byte offset of the buffer for a stage.
    pub const BUFFER: usize = LINE;

    /// Byte offset of the array.
    pub const DATA: usize = Self::BUFFER + Self::LONGEST_STAGE * INT;

    /// Byte offset of the table, if there is one.
    pub const fn table(&self) -> usize {
        Self::DATA + bytes_of(self.count).bytes()
    }

    /// The integer at byte `place` of the memory.
    ///
    /// # Panics
    /// If the integer does not lie inside the region.
    #[inline]
    pub fn int(&self, place: usize) -> u32 {
        u32::from_ne_bytes(self.region.array(place))
    }

    /// The parts of the memory, borrowed separately. Crate-private: a kernel that writes the array must not
    /// write the table or the probe.
    pub(crate) fn parts(&mut self) -> DeckParts<'_> {
        let table = self.table() / INT;
        let ints = self.region.reborrow().into_u32s();
        let (ints, rest) = ints.split_at_mut(table);
        let (head, data) = ints.split_at_mut(Self::DATA / INT);
        let (generator, buffer) = head.split_at_mut(Self::BUFFER / INT);
        DeckParts {
            generator,
            buffer,
            data: &mut data[..self.count],
            table: match self.indices {
                Indices::Precomputed => &rest[..self.count],
                Indices::Generated => &[],
            },
        }
    }

    /// The generator in its present state.
    #[doc(hidden)]
    pub fn generator(&self) -> ThreadLocalRandom {
        ThreadLocalRandom::new(self.region.word(Self::SEED))
    }

    /// Sets the generator to the state of another one.
    #[doc(hidden)]
    pub fn set_generator(&mut self, generator: &ThreadLocalRandom) {
        self.region.set_word(Self::SEED, generator.seed());
    }
}

/// Bytes of `count` integers, in whole lines.
const fn bytes_of(count: usize) -> Span {
    Span::of(INT).times(count).whole(LINE)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn every_index_stays_below_its_place_and_reaches_it() {
        let mut bytes = vec![0; 64 * 1024];
        let region = Region::new(&mut bytes).unwrap();
        let deck = Deck::new(region, 1000, Indices::Precomputed, 3).unwrap();
        let table: Vec<u32> = (0..1000).map(|at| deck.int(deck.table() + 4 * at)).collect();
        assert!(table.iter().zip(0..).all(|(index, place)| *index <= place));
        assert!(table.iter().zip(0..).any(|(index, place)| *index == place));
        let late = table[500..].iter().filter(|&&index| index > 250).count();
        assert!(late > 250, "half of the indices and more lie in the upper part");
    }

    #[test]
    fn the_array_is_that_of_the_post() {
        let mut bytes = vec![0; 64 * 1024];
        let region = Region::new(&mut bytes).unwrap();
        let deck = Deck::new(region, 3, Indices::Generated, 3).unwrap();
        let first = [0, 4, 8].map(|at| deck.int(Deck::DATA + at).cast_signed());
        assert_eq!(first, [-1_155_484_576, -723_955_400, 1_033_096_058]);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_value() {
        let mut bytes = vec![0; 4096];
        let mut region = Region::new(&mut bytes).unwrap();
        let refused = Deck::new(region.reborrow(), 1, Indices::Generated, 1).unwrap_err();
        assert_eq!(refused, DeckError::Count(1));
        let room = region.len();
        let refused = Deck::new(region, 1000, Indices::Generated, 1).unwrap_err();
        let needed = Deck::span(1000, Indices::Generated);
        assert_eq!(refused, DeckError::RegionTooSmall { needed, region: room });
    }
}
