//! The twin of [`Walk`](crate::kernel::Walk).

use crate::kernel::Step;
use crate::kernel::walk::padding_offsets;
use crate::pattern::Ring;

/// Walks `operations` steps along `ring` from its cursor and leaves the cursor there. The ring's
/// elements need padding for every step but `Follow`.
pub fn walk(ring: &mut Ring<'_>, step: Step, operations: u64) {
    let (first, last) = padding_offsets(ring);
    for _ in 0..operations {
        let at = ring.cursor();
        let next = ring.next(at);
        let added = match step {
            Step::Follow => None,
            Step::Inc => Some(1),
            Step::Addnext0 => Some(ring.word(next.wrapping_add_signed(first))),
            Step::Addnextlast => Some(ring.word(next.wrapping_add_signed(last))),
        };
        if let Some(added) = added {
            let counter = at.wrapping_add_signed(first);
            ring.set_word(counter, ring.word(counter).wrapping_add(added));
        }
        ring.set_cursor(next);
    }
}
