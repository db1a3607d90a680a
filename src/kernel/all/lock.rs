//! The twin of [`LockAdd`](crate::kernel::LockAdd).

use crate::mem::Region;

/// Adds 1 to the word at byte `at`, `operations` times; returns the word before the last addition.
pub fn lock_add(region: &mut Region<'_>, at: usize, operations: u64) -> u64 {
    let mut before = region.word(at);
    for _ in 0..operations {
        before = region.word(at);
        region.set_word(at, before.wrapping_add(1));
    }
    before
}
