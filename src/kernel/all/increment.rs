//! The twins of [`Increment`](crate::kernel::Increment).

use crate::mem::Region;

/// Adds 1 to the word at byte `at`, `operations` times; returns the word.
pub fn increment(region: &mut Region<'_>, at: usize, operations: u64) -> u64 {
    let word = region.word(at).wrapping_add(operations);
    region.set_word(at, word);
    word
}

/// Takes the lock at byte `at` and gives it back, `operations` times: leaves it free.
pub fn spin(region: &mut Region<'_>, at: usize, operations: u64) -> u64 {
    if operations > 0 {
        region.set_word(at, 0);
    }
    operations
}
