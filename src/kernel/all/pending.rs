//! The twin of [`Pending`](crate::kernel::Pending).

use crate::mem::Region;

/// Counts up from `count`, `operations` times, and stores the count `stores` times each; returns
/// the last count.
pub fn pending(region: &mut Region<'_>, stores: u32, count: u64, operations: u64) -> u64 {
    let mut count = count;
    for _ in 0..operations {
        count += 1;
        for _ in 0..stores {
            region.set_word(0, count);
        }
    }
    count
}
