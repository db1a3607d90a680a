//! Pseudo-LRU in two forms: a binary tree over the ways, whose nodes point to the half used longer ago,
//! and one bit per way, which records recent use.

use alloc::boxed::Box;
use alloc::vec;

use super::{Entry, Policy, empty};

/// The trees of all sets. A tree is a heap of bits: node 1 is the root, node n has the children 2n and
/// 2n + 1, and the ways are the leaves. A 0 bit points to the left child.
#[derive(Clone, Debug)]
pub(crate) struct Trees {
    nodes: Box<[u64]>,
    /// Words of bits per set.
    words: usize,
    ways: usize,
    /// Levels of the tree: the number of ways is rounded up to 2^levels leaves.
    levels: u32,
}

impl Trees {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let leaves = ways.next_power_of_two();
        let words = leaves.div_ceil(64);
        Trees {
            nodes: vec![0; sets * words].into_boxed_slice(),
            words,
            ways,
            levels: leaves.trailing_zeros(),
        }
    }

    /// Returns the way that the tree points to. If the number of ways is not a power of two, skips
    /// halves that contain no way.
    #[inline]
    fn pointed_to(&self, set: usize) -> usize {
        let nodes = &self.nodes[set * self.words..][..self.words];
        let mut node = 1;
        for level in (0..self.levels).rev() {
            let right = nodes[node / 64] >> (node % 64) & 1;
            // The first way below the right child, as a leaf of the whole tree.
            let first = ((2 * node + 1) << level) - (1 << self.levels);
            let exists = first < self.ways;
            node = 2 * node + usize::from(right == 1 && exists);
        }
        node - (1 << self.levels)
    }
}

impl Policy for Trees {
    /// Makes every node above `way` point to its other half.
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let nodes = &mut self.nodes[set * self.words..][..self.words];
        let mut node = way + (1 << self.levels);
        while node > 1 {
            let right = node & 1;
            node /= 2;
            let bit = 1 << (node % 64);
            let word = &mut nodes[node / 64];
            *word = if right == 1 { *word & !bit } else { *word | bit };
        }
    }

    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let way = empty(entries).unwrap_or_else(|| self.pointed_to(set));
        self.used(set, way);
        way
    }
}

/// The use bits of all sets.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    used: Box<[u64]>,
    /// Words of bits per set.
    words: usize,
    ways: usize,
}

impl Bits {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let words = ways.div_ceil(64);
        Bits { used: vec![0; sets * words].into_boxed_slice(), words, ways }
    }

    /// Returns the lowest way whose bit is clear; way 0 if there is only one way.
    #[inline]
    fn lowest_clear(&self, set: usize) -> usize {
        let words = &self.used[set * self.words..][..self.words];
        let clear = words.iter().position(|&word| word != u64::MAX);
        let way = clear.map(|index| index * 64 + words[index].trailing_ones() as usize);
        way.unwrap_or(usize::MAX).min(self.ways - 1)
    }
}

impl Policy for Bits {
    /// Sets the bit of `way`; clears all other bits if all are set then.
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let words = &mut self.used[set * self.words..][..self.words];
        words[way / 64] |= 1 << (way % 64);
        let set_bits: u32 = words.iter().map(|word| word.count_ones()).sum();
        if set_bits as usize == self.ways {
            words.fill(0);
            words[way / 64] = 1 << (way % 64);
        }
    }

    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let way = empty(entries).unwrap_or_else(|| self.lowest_clear(set));
        self.used(set, way);
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_filled_in_the_order_of_the_tree() {
        let mut trees = Trees::new(2, 8);
        let order: [usize; 8] = core::array::from_fn(|_| {
            let way = trees.pointed_to(1);
            trees.used(1, way);
            way
        });
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
        // The other set has not been touched.
        assert_eq!(trees.pointed_to(0), 0);
    }

    #[test]
    fn the_way_used_last_is_never_the_victim_and_every_way_can_be() {
        for ways in [2, 3, 4, 6, 12, 16, 20, 64, 512] {
            let mut trees = Trees::new(1, ways);
            let mut seen = vec![false; ways];
            for _ in 0..4 * ways {
                let way = trees.pointed_to(0);
                assert!(way < ways);
                seen[way] = true;
                trees.used(0, way);
                assert_ne!(trees.pointed_to(0), way, "{ways} ways");
            }
            assert!(seen.iter().all(|&seen| seen), "{ways} ways");
        }
    }

    #[test]
    fn the_last_bit_clears_the_others() {
        for ways in [2, 8, 12, 64, 65, 200] {
            let mut bits = Bits::new(3, ways);
            for way in 0..ways - 1 {
                assert_eq!(bits.lowest_clear(2), way);
                bits.used(2, way);
            }
            // All bits but the last are set; using the last way clears the others.
            bits.used(2, ways - 1);
            assert_eq!(bits.lowest_clear(2), 0);
            bits.used(2, 0);
            assert_eq!(bits.lowest_clear(2), 1);
        }
    }
}
