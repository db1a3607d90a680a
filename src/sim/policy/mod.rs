//! Replacement policies: which line of a full set is evicted.

mod lru;
mod lru_of_eight;
mod plru;
mod qlru;

pub(super) use lru::{Lru, Random, RoundRobin};
pub(super) use lru_of_eight::{Eight, LruOfEight};
pub(super) use plru::{Bits, Trees};
pub(super) use qlru::Ages;
pub use qlru::{Hit, Insert, ParseQlruError, Place, Qlru, Update};

/// A replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Replacement {
    /// Least recently used: evicts the line used longest ago.
    Lru,
    /// Evicts the line after the one evicted before. A miss advances a pointer per set and fills the way
    /// that it then points to, so the first line of a set comes into way 1. Hits do not move the
    /// pointer. Without invalidations this is first in, first out.
    RoundRobin,
    /// Tree-PLRU: one bit per node of a binary tree over the ways points away from the last use.
    TreePlru,
    /// Bit-PLRU, also called MRU or not most recently used: a use sets the way's bit, and clears all
    /// other bits if it would set the last one. The lowest way whose bit is clear is evicted.
    BitPlru,
    /// Evicts a random line, each with equal probability.
    Random {
        /// Seed of the random sequence.
        seed: u64,
    },
    /// Quad-age LRU, a family of policies with two bits per line.
    Qlru(Qlru),
}

impl Replacement {
    /// Returns whether using the same line twice in a row has the same effect as using it once.
    pub(super) const fn again_is_nothing(self) -> bool {
        !matches!(self, Replacement::Qlru(_))
    }
}

/// An entry of a set: the line's number above two flag bits, or [`EMPTY`].
pub(super) type Entry = u64;

/// No line.
pub(super) const EMPTY: Entry = u64::MAX;

/// Flag: the line differs from its copy in the next level.
pub(super) const DIRTY: Entry = 1;

/// Flag: a prefetcher brought the line in, and it has not been used since.
pub(super) const PREFETCHED: Entry = 2;

/// Bits of an entry below the line's number.
pub(super) const FLAG_BITS: u32 = 2;

/// Returns whether `entry` is the line of `key`, an entry without flags.
#[inline]
fn is(entry: Entry, key: Entry) -> bool {
    entry & !(DIRTY | PREFETCHED) == key
}

/// Returns the way that holds the line of `key`.
///
/// Compares eight ways at a time without a branch between them, because the position of a line in its
/// set is practically random and a branch would be mispredicted.
#[inline]
pub(super) fn find(entries: &[Entry], key: Entry) -> Option<usize> {
    let (eights, rest) = entries.as_chunks::<8>();
    for (index, eight) in eights.iter().enumerate() {
        let mut found = 0_u32;
        for (way, &entry) in eight.iter().enumerate() {
            found |= u32::from(is(entry, key)) << way;
        }
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize);
        }
    }
    let way = rest.iter().position(|&entry| is(entry, key))?;
    Some(eights.len() * 8 + way)
}

/// Returns the lowest way without a line.
fn empty(entries: &[Entry]) -> Option<usize> {
    entries.iter().position(|&entry| entry == EMPTY)
}

/// The state that a policy keeps for the sets of a cache, and its rules. The cache owns the entries of a
/// set; a policy may reorder them.
pub(super) trait Policy: Sized {
    /// Whether using the same line twice in a row has the same effect as using it once.
    const AGAIN_IS_NOTHING: bool = true;

    /// Returns the entries of a set; each set has `ways` entries.
    #[inline]
    fn entries(entries: &mut [Entry], ways: usize, set: usize) -> &mut [Entry] {
        &mut entries[set * ways..][..ways]
    }

    /// Records a use of the line in `way`. By default nothing, for policies that hits do not change or that
    /// override the methods that call it.
    fn used(&mut self, _set: usize, _way: usize) {}

    /// Returns an empty way or the way of the victim, and records that a new line comes in there.
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize;

    /// Looks up a line without recording a use.
    #[inline]
    fn find(&self, _set: usize, entries: &[Entry], key: Entry) -> Option<usize> {
        find(entries, key)
    }

    /// Looks up a line and records its use. Returns the way that the line is in afterwards.
    #[inline]
    fn hit(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> Option<usize> {
        let way = find(entries, key)?;
        self.used(set, way);
        Some(way)
    }

    /// Looks up a line and records its use; brings the line in on a miss. Returns the way that the line
    /// is in afterwards, and on a miss the entry that it replaced.
    #[inline]
    fn reach(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> (usize, Option<Entry>) {
        if let Some(way) = self.hit(set, entries, key) {
            return (way, None);
        }
        let way = self.victim(set, entries);
        let old = core::mem::replace(&mut entries[way], key);
        (way, Some(old))
    }

    /// Removes the line of `way` from the set.
    fn remove(&mut self, _set: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::pattern::Rng;

    #[test]
    fn a_line_is_found_in_whatever_way_it_lies_and_whatever_its_flags() {
        for ways in [1, 3, 8, 12, 16, 20, 64] {
            let mut entries = vec![EMPTY; ways];
            assert_eq!(find(&entries, 5 << FLAG_BITS), None);
            for way in 0..ways {
                for flags in 0..4 {
                    entries[way] = 5 << FLAG_BITS | flags;
                    assert_eq!(find(&entries, 5 << FLAG_BITS), Some(way));
                    assert_eq!(find(&entries, 6 << FLAG_BITS), None);
                }
                entries[way] = EMPTY;
            }
        }
    }

    /// Fills a set of four, removes the second line, brings a fifth line into the empty way, and expects
    /// an eviction for the sixth.
    fn fills_what_was_removed(mut policy: impl Policy) {
        let mut entries = [EMPTY; 4];
        for line in 1..=4 {
            let (_, old) = policy.reach(0, &mut entries, line << FLAG_BITS);
            assert_eq!(old, Some(EMPTY));
        }
        let way = find(&entries, 2 << FLAG_BITS).unwrap();
        policy.remove(0, &mut entries, way);
        assert_eq!(find(&entries, 2 << FLAG_BITS), None);
        let (_, old) = policy.reach(0, &mut entries, 9 << FLAG_BITS);
        assert_eq!(old, Some(EMPTY));
        let (_, old) = policy.reach(0, &mut entries, 10 << FLAG_BITS);
        assert_ne!(old, Some(EMPTY));
    }

    #[test]
    fn removal_leaves_room_that_is_filled_first() {
        fills_what_was_removed(Lru);
        fills_what_was_removed(Trees::new(1, 4));
        fills_what_was_removed(Bits::new(1, 4));
        fills_what_was_removed(Random(Rng::new(1)));
        let qlru = "QLRU_H11_M1_R0_U0".parse().unwrap();
        fills_what_was_removed(Ages::new(qlru, 1, 4));
    }
}
