//! The twin of [`Straddle`](crate::kernel::Straddle).

use crate::pattern::Ring;

/// Walks `operations` steps along `ring`, and leaves the cursor there.
pub fn straddle(ring: &mut Ring<'_>, operations: u64) {
    for _ in 0..operations {
        let next = ring.next(ring.cursor());
        ring.set_cursor(next);
    }
}
