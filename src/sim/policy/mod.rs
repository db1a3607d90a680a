//! Which line of a full set makes way.

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
    /// The line used longest ago.
    Lru,
    /// The line after the one replaced before: a pointer a set, which a miss advances and then
    /// fills, so that the first line of a set comes into way 1. Hits leave it alone. Without
    /// invalidations this is first in, first out.
    RoundRobin,
    /// Tree-PLRU: one bit per node of a binary tree over the ways points away from the last use.
    TreePlru,
    /// Bit-PLRU, also called MRU or not most recently used: one bit per way is set by a use, and all
    /// others are cleared when the last one would be set. The lowest way without it makes way.
    BitPlru,
    /// Any, with equal chance.
    Random {
        /// Decides the sequence.
        seed: u64,
    },
    /// Quad-age LRU, a family of policies with two bits per line.
    Qlru(Qlru),
}

impl Replacement {
    /// Whether using a line again that was used last changes nothing.
    pub(super) const fn again_is_nothing(self) -> bool {
        !matches!(self, Replacement::Qlru(_))
    }
}

/// An entry of a set: the line's number above two flags, or [`EMPTY`].
pub(super) type Entry = u64;

/// No line.
pub(super) const EMPTY: Entry = u64::MAX;

/// The line differs from what lies behind it.
pub(super) const DIRTY: Entry = 1;

/// A prefetcher brought the line, and nobody has used it yet.
pub(super) const PREFETCHED: Entry = 2;

/// Bits of an entry below the line's number.
pub(super) const FLAG_BITS: u32 = 2;

/// Whether `entry` is that of the line of `key`, an entry without flags.
#[inline]
fn is(entry: Entry, key: Entry) -> bool {
    entry & !(DIRTY | PREFETCHED) == key
}

/// The way that holds the line of `key`.
///
/// Looks at eight ways at a time without a branch between them: where in a set a line lies is as
/// good as random.
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

/// The lowest way without a line.
fn empty(entries: &[Entry]) -> Option<usize> {
    entries.iter().position(|&entry| entry == EMPTY)
}

/// What a policy remembers of the sets of a cache, and what it does with it. The entries of a set
/// are the cache's; a policy may order them.
pub(super) trait Policy: Sized {
    /// Whether using a line again that was used last changes nothing.
    const AGAIN_IS_NOTHING: bool = true;

    /// The entries of a set, of which each has `ways`.
    #[inline]
    fn entries(entries: &mut [Entry], ways: usize, set: usize) -> &mut [Entry] {
        &mut entries[set * ways..][..ways]
    }

    /// Notes that the line of `way` was used.
    fn used(&mut self, set: usize, way: usize);

    /// An empty way, or the one whose line makes way; notes that a new line comes in there.
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize;

    /// Looks a line up, which is no use of it.
    #[inline]
    fn find(&self, _set: usize, entries: &[Entry], key: Entry) -> Option<usize> {
        find(entries, key)
    }

    /// Looks a line up and notes its use. Says in which way it lies now.
    #[inline]
    fn hit(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> Option<usize> {
        let way = find(entries, key)?;
        self.used(set, way);
        Some(way)
    }

    /// Looks a line up and notes its use; brings it in if it is not there. Says in which way it
    /// lies now, and what lay there if it was not there.
    #[inline]
    fn reach(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> (usize, Option<Entry>) {
        if let Some(way) = self.hit(set, entries, key) {
            return (way, None);
        }
        let way = self.victim(set, entries);
        let old = core::mem::replace(&mut entries[way], key);
        (way, Some(old))
    }

    /// Takes the line of `way` out of the set.
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

    /// A set of four takes four lines, gives up the second, takes a fifth into its room, and only
    /// the sixth makes another go.
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
        fills_what_was_removed(Random::new(1));
        let qlru = "QLRU_H11_M1_R0_U0".parse().unwrap();
        fills_what_was_removed(Ages::new(qlru, 1, 4));
    }

    /// The list that LRU is defined by.
    #[test]
    fn lru_is_the_list_it_is_defined_by() {
        for ways in [1, 2, 7, 8, 16, 20] {
            let mut rng = Rng::new(ways as u64);
            let mut entries = vec![EMPTY; ways];
            let mut list: vec::Vec<Entry> = vec::Vec::new();
            for _ in 0..2000 {
                let key = (rng.below(ways + 3) as u64) << FLAG_BITS;
                let (way, old) = Lru.reach(0, &mut entries, key);
                assert_eq!(way, 0);
                let place = list.iter().position(|&entry| entry == key);
                assert_eq!(old.is_none(), place.is_some());
                if let Some(place) = place {
                    list.remove(place);
                }
                list.insert(0, key);
                if list.len() > ways {
                    assert_eq!(old, list.pop());
                }
                assert_eq!(entries[..list.len()], list);
            }
        }
    }
}
