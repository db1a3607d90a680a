//! The twin of [`Rewrite`](crate::kernel::Rewrite).

use crate::mem::Region;

/// Counts on from `count` by `operations` in the first word of `region`, and returns the count.
pub fn rewrite(region: &mut Region<'_>, count: u64, operations: u64) -> u64 {
    for value in count + 1..=count + operations {
        region.set_word(0, value);
    }
    count + operations
}
