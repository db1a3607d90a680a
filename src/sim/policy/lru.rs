//! Replacement that keeps only an order: least recently used, by the order of the entries with the most
//! recent first; round robin, by a pointer per set; and random.

use alloc::boxed::Box;

use super::{EMPTY, Entry, Policy, empty, find, is};
use crate::pattern::Rng;

/// LRU that keeps only the order of the entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lru;

impl Policy for Lru {
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

    /// Moves the empty entry to the end, so that it is replaced first.
    fn remove(&mut self, _: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
        entries[way..].rotate_left(1);
    }
}

/// Moves the line of `key` to the front; returns the last entry if the line was not there and replaced
/// it.
///
/// One pass shifts each entry to the next place until it finds the line. This leaves one unpredictable
/// branch, and is faster than a search followed by a move.
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

/// The way filled last in each set.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin(pub(crate) Box<[u16]>);

impl Policy for RoundRobin {
    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let next = usize::from(self.0[set]) + 1;
        let way = if next < entries.len() { next } else { 0 };
        self.0[set] = way as u16;
        way
    }
}

/// Random replacement.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) Rng);

impl Policy for Random {
    #[inline]
    fn victim(&mut self, _: usize, entries: &[Entry]) -> usize {
        empty(entries).unwrap_or_else(|| self.0.below(entries.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EMPTY;
    use super::*;

    #[test]
    fn the_first_line_comes_into_way_1_and_hits_move_nothing() {
        let mut policy = RoundRobin([0].into());
        let mut entries = [EMPTY; 3];
        let mut ways = |line: u64| policy.reach(0, &mut entries, line << 2).0;
        assert_eq!([1, 2, 1, 1, 3].map(&mut ways), [1, 2, 1, 1, 0]);
        // Line 1 is evicted before line 2, whatever was used since.
        assert_eq!([4, 2, 1].map(&mut ways), [1, 2, 2]);
    }

    #[test]
    fn every_way_of_a_full_set_goes_as_often() {
        let mut policy = Random(Rng::new(3));
        let mut entries = [EMPTY; 8];
        let mut filled = [0_u32; 8];
        for line in 0..8008 {
            let (way, _) = policy.reach(0, &mut entries, line << 2);
            filled[way] += 1;
        }
        // 1,001 each, plus or minus four standard deviations.
        assert!(filled.iter().all(|count| (880..1120).contains(count)), "{filled:?}");
    }
}
