//! Which line of a full set makes way.

mod bits;
mod lru;
mod qlru;
mod tree;

pub use qlru::{Hit, Insert, ParseQlruError, Place, Qlru, Update};

use alloc::boxed::Box;
use alloc::vec;

use crate::pattern::Rng;

/// A replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The line used longest ago.
    Lru,
    /// The line after the one replaced before: a pointer a set, which a miss advances and then
    /// fills, so that the first line of a set comes into way 1. Hits leave it alone. Without
    /// invalidations this is first in, first out.
    RoundRobin,
    /// Tree-PLRU: a bit a node of a binary tree over the ways points away from the last use.
    TreePlru,
    /// Bit-PLRU, also called MRU or not most recently used: a bit a way is set by a use, and all
    /// others are cleared when the last one would be set. The lowest way without it makes way.
    BitPlru,
    /// Any, with equal chance.
    Random {
        /// Decides the sequence.
        seed: u64,
    },
    /// Quad-age LRU, a family of policies with two bits a line.
    Qlru(Qlru),
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

/// The way that holds `key`, an entry without flags.
///
/// Looks at eight ways at a time without a branch between them: where in a set a line lies is as
/// good as random.
#[inline]
pub(super) fn find(entries: &[Entry], key: Entry) -> Option<usize> {
    let (eights, rest) = entries.as_chunks::<8>();
    for (index, eight) in eights.iter().enumerate() {
        let mut found = 0_u32;
        for (way, entry) in eight.iter().enumerate() {
            found |= u32::from(entry ^ key <= DIRTY | PREFETCHED) << way;
        }
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize);
        }
    }
    let first = eights.len() * 8;
    rest.iter()
        .position(|entry| entry ^ key <= DIRTY | PREFETCHED)
        .map(|way| first + way)
}

/// What the policy of a cache remembers of its sets.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// The order of the entries is the order of their use: nothing else is kept.
    Lru,
    RoundRobin(Box<[u16]>),
    Tree(tree::Trees),
    Bits(bits::Bits),
    Random(Rng),
    Qlru(qlru::Ages),
}

impl State {
    pub(super) fn new(replacement: Replacement, sets: usize, ways: usize) -> Self {
        match replacement {
            Replacement::Lru => State::Lru,
            Replacement::RoundRobin => State::RoundRobin(vec![0; sets].into_boxed_slice()),
            Replacement::TreePlru => State::Tree(tree::Trees::new(sets, ways)),
            Replacement::BitPlru => State::Bits(bits::Bits::new(sets, ways)),
            Replacement::Random { seed } => State::Random(Rng::new(seed)),
            Replacement::Qlru(qlru) => State::Qlru(qlru::Ages::new(qlru, sets, ways)),
        }
    }

    /// Whether a second use of a line, straight after the first, changes nothing.
    pub(super) const fn idempotent(&self) -> bool {
        !matches!(self, State::Qlru(_))
    }

    /// Looks a line up and notes its use. Says in which way it lies now.
    #[inline]
    pub(super) fn hit(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> Option<usize> {
        if let State::Lru = self {
            return lru::hit(entries, key);
        }
        let way = find(entries, key)?;
        match self {
            State::Lru | State::RoundRobin(_) | State::Random(_) => {}
            State::Tree(trees) => trees.used(set, way),
            State::Bits(bits) => bits.used(set, way),
            State::Qlru(ages) => ages.hit(set, way),
        }
        Some(way)
    }

    /// Puts a line that is not there into the set. Says in which way it lies now, and what lay
    /// there before.
    #[inline]
    pub(super) fn fill(
        &mut self,
        set: usize,
        entries: &mut [Entry],
        entry: Entry,
    ) -> (usize, Entry) {
        let way = match self {
            State::Lru => return (0, lru::fill(entries, entry)),
            State::RoundRobin(pointers) => {
                let next = usize::from(pointers[set]) + 1;
                let way = if next < entries.len() { next } else { 0 };
                pointers[set] = way as u16;
                way
            }
            State::Tree(trees) => {
                let way = empty(entries).unwrap_or_else(|| trees.victim(set));
                trees.used(set, way);
                way
            }
            State::Bits(bits) => {
                let way = empty(entries).unwrap_or_else(|| bits.victim(set));
                bits.used(set, way);
                way
            }
            State::Random(rng) => empty(entries).unwrap_or_else(|| rng.below(entries.len())),
            State::Qlru(ages) => ages.fill(set, entries),
        };
        (way, core::mem::replace(&mut entries[way], entry))
    }

    /// Takes a line out of the set.
    pub(super) fn remove(&mut self, entries: &mut [Entry], key: Entry) -> Option<Entry> {
        let way = find(entries, key)?;
        let entry = core::mem::replace(&mut entries[way], EMPTY);
        if let State::Lru = self {
            entries[way..].rotate_left(1);
        }
        Some(entry)
    }
}

/// The lowest way without a line.
fn empty(entries: &[Entry]) -> Option<usize> {
    entries.iter().position(|&entry| entry == EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn removal_leaves_room_that_is_filled_first() {
        let policies = [
            Replacement::Lru,
            Replacement::TreePlru,
            Replacement::BitPlru,
            Replacement::Random { seed: 1 },
            Replacement::Qlru("QLRU_H11_M1_R0_U0".parse().unwrap()),
        ];
        for policy in policies {
            let mut state = State::new(policy, 1, 4);
            let mut entries = [EMPTY; 4];
            for line in 1..=4 {
                let (_, old) = state.fill(0, &mut entries, line << FLAG_BITS);
                assert_eq!(old, EMPTY, "{policy:?}");
            }
            let taken = state.remove(&mut entries, 2 << FLAG_BITS);
            assert_eq!(taken, Some(2 << FLAG_BITS));
            assert_eq!(state.remove(&mut entries, 2 << FLAG_BITS), None);
            let (_, old) = state.fill(0, &mut entries, 9 << FLAG_BITS);
            assert_eq!(old, EMPTY, "{policy:?}");
            let (_, old) = state.fill(0, &mut entries, 10 << FLAG_BITS);
            assert_ne!(old, EMPTY, "{policy:?}");
        }
    }
}
