//! The twin of [`PrefetchWalk`](crate::kernel::PrefetchWalk).

use crate::pattern::Ring;

/// Walks `operations` steps along `ring` from its cursor and leaves the cursor there. Work and
/// prefetches leave nothing behind that a program could see.
pub fn prefetch(ring: &mut Ring<'_>, operations: u64) {
    for _ in 0..operations {
        ring.set_cursor(ring.next(ring.cursor()));
    }
}
