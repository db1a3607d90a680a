//! Replacement that looks at no more than an order: least recently used, by the order of the entries, the
//! one used last first; round robin, by a pointer per set; and random.

use alloc::boxed::Box;
use alloc::vec;

use super::{EMPTY, Entry, Policy, empty, find, is};
use crate::pattern::Rng;

/// Nothing but the order of the entries is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lru;

impl Policy for Lru {
    fn used(&mut self, _: usize, _: usize) {}

    fn victim(&mut self, _: usize, entries: &[Entry]) -> usize {
        entries.len() - 1
    }

    fn hit(&mut self, _: usize, entries: &mut [Entry], key: Entry) -> Option<usize> {
        let way = find(entries, key)?;
        entries[..=way].rotate_right(1);
        Some(0)
    }

    #[inline]
    fn reach(&mut self, _: usize, entries: &mut [Entry], key: Entry) -> (usize, Option<Entry>) {
        (0, pass(entries, key))
    }

    /// What is empty lies at the end, so that it falls out first.
    fn remove(&mut self, _: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
        entries[way..].rotate_left(1);
    }
}

/// Brings the line of `key` to the front; says what fell out at the end if it was not there.
///
/// One pass hands each entry on to the next place until the line is found. That leaves one branch
/// that cannot be guessed, and is quicker than to search first and to move then.
#[inline]
fn pass(entries: &mut [Entry], key: Entry) -> Option<Entry> {
    let (front, behind) = entries.split_first_mut()?;
    let mut carried = *front;
    if is(carried, key) {
        return None;
    }
    for place in behind {
        let entry = core::mem::replace(place, carried);
        if is(entry, key) {
            *front = entry;
            return None;
        }
        carried = entry;
    }
    *front = key;
    Some(carried)
}

/// The ways filled last, set by set.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    filled: Box<[u16]>,
}

impl RoundRobin {
    pub(crate) fn new(sets: usize) -> Self {
        RoundRobin {
            filled: vec![0; sets].into_boxed_slice(),
        }
    }
}

impl Policy for RoundRobin {
    fn used(&mut self, _: usize, _: usize) {}

    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let next = usize::from(self.filled[set]) + 1;
        let way = if next < entries.len() { next } else { 0 };
        self.filled[set] = way as u16;
        way
    }
}

/// Where the next number comes from.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    rng: Rng,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random {
            rng: Rng::new(seed),
        }
    }
}

impl Policy for Random {
    fn used(&mut self, _: usize, _: usize) {}

    #[inline]
    fn victim(&mut self, _: usize, entries: &[Entry]) -> usize {
        empty(entries).unwrap_or_else(|| self.rng.below(entries.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EMPTY;
    use super::*;

    #[test]
    fn the_first_line_comes_into_way_1_and_hits_move_nothing() {
        let mut policy = RoundRobin::new(1);
        let mut entries = [EMPTY; 3];
        let mut ways = |line: u64| policy.reach(0, &mut entries, line << 2).0;
        assert_eq!([1, 2, 1, 1, 3].map(&mut ways), [1, 2, 1, 1, 0]);
        // Line 1 goes before line 2, whatever was used since.
        assert_eq!([4, 2, 1].map(&mut ways), [1, 2, 2]);
    }

    #[test]
    fn every_way_of_a_full_set_goes_as_often() {
        let mut policy = Random::new(3);
        let mut entries = [EMPTY; 8];
        let mut filled = [0_u32; 8];
        for line in 0..8008 {
            let (way, _) = policy.reach(0, &mut entries, line << 2);
            filled[way] += 1;
        }
        // 1,001 each, give or take four standard deviations.
        assert!(
            filled.iter().all(|count| (880..1120).contains(count)),
            "{filled:?}"
        );
    }
}
