//! Least recently used, by the order of the entries: the one used last comes first.

use super::{EMPTY, Entry, find};

/// Brings the line of `key` to the front. It lies there already more often than not.
#[inline]
pub(super) fn hit(entries: &mut [Entry], key: Entry) -> Option<usize> {
    if entries.first()? ^ key <= 3 {
        return Some(0);
    }
    let way = find(entries, key)?;
    let entry = entries[way];
    shift(&mut entries[..=way]);
    entries[0] = entry;
    Some(0)
}

/// Puts an entry to the front, and says which one falls out at the end. Lines that were removed
/// lie at the end, so that they go first.
#[inline]
pub(super) fn fill(entries: &mut [Entry], entry: Entry) -> Entry {
    let old = entries.last().copied().unwrap_or(EMPTY);
    shift(entries);
    entries[0] = entry;
    old
}

/// Moves every entry one way back, over the last.
#[inline]
fn shift(entries: &mut [Entry]) {
    let kept = entries.len() - 1;
    entries.copy_within(..kept, 1);
}
