//! The twin of [`Fields`](crate::kernel::Fields).

use crate::pattern::Ring;

/// Walks `operations` steps along `ring`, leaves the cursor there, and returns the wrapping sum of
/// all words of the elements left behind.
pub fn fields(ring: &mut Ring<'_>, operations: u64) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..operations {
        let at = ring.cursor();
        let element = at - ring.layout().pointer_offset();
        for place in (0..ring.layout().element()).step_by(8) {
            sum = sum.wrapping_add(ring.word(element + place));
        }
        ring.set_cursor(ring.next(at));
    }
    sum
}
