//! Bit-PLRU: one bit per way says that it was used lately.

use alloc::boxed::Box;
use alloc::vec;

use super::{Entry, Policy, empty};

/// The bits of all sets.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    used: Box<[u64]>,
    /// Words of bits a set.
    words: usize,
    ways: usize,
}

impl Bits {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let words = ways.div_ceil(64);
        Bits {
            used: vec![0; sets * words].into_boxed_slice(),
            words,
            ways,
        }
    }

    /// Sets the bit of `way`; clears all others if it was the last without.
    #[inline]
    fn set_bit(&mut self, set: usize, way: usize) {
        let words = &mut self.used[set * self.words..][..self.words];
        words[way / 64] |= 1 << (way % 64);
        let mut set_bits = 0;
        for word in words.iter() {
            set_bits += word.count_ones() as usize;
        }
        if set_bits == self.ways {
            words.fill(0);
            words[way / 64] = 1 << (way % 64);
        }
    }

    /// The lowest way whose bit is clear; the only one if there is but one.
    #[inline]
    fn lowest_clear(&self, set: usize) -> usize {
        let words = &self.used[set * self.words..][..self.words];
        for (index, word) in words.iter().enumerate() {
            if *word != u64::MAX {
                let way = index * 64 + word.trailing_ones() as usize;
                return way.min(self.ways - 1);
            }
        }
        self.ways - 1
    }
}

impl Policy for Bits {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.set_bit(set, way);
    }

    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let way = empty(entries).unwrap_or_else(|| self.lowest_clear(set));
        self.set_bit(set, way);
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bit_clears_the_others() {
        for ways in [2, 8, 12, 64, 65, 200] {
            let mut bits = Bits::new(3, ways);
            for way in 0..ways - 1 {
                assert_eq!(bits.lowest_clear(2), way);
                bits.set_bit(2, way);
            }
            // All but the last are set; using the last one leaves it alone set.
            bits.set_bit(2, ways - 1);
            assert_eq!(bits.lowest_clear(2), 0);
            bits.set_bit(2, 0);
            assert_eq!(bits.lowest_clear(2), 1);
        }
    }

    #[test]
    fn a_single_way_is_the_victim() {
        let mut bits = Bits::new(1, 1);
        bits.set_bit(0, 0);
        assert_eq!(bits.lowest_clear(0), 0);
    }
}
