//! The twin of [`Alias`](crate::kernel::Alias).

use crate::mem::Region;

/// Stores what is left of `operations` to byte `store` and loads the address at byte `load`, as
/// often; returns the byte offset that it points to.
pub fn alias(region: &mut Region<'_>, store: usize, load: usize, operations: u64) -> u64 {
    let mut at = load;
    for left in (1..=operations).rev() {
        region.set_word(store, left);
        at = region.word(at) as usize - region.address();
    }
    at as u64
}
