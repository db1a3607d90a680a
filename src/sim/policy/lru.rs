//! Least recently used, by the order of the entries: the one used last comes first.

use super::{EMPTY, Entry, Policy, find, is};

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
