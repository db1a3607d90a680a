//! The twin of [`Pair`](crate::kernel::Pair).

use crate::pattern::Ring;

/// Walks `operations` steps along `ring`, leaves the cursor there, and returns the wrapping sum of
/// the two `words` of the elements left behind, which they must have.
pub fn pair(ring: &mut Ring<'_>, words: [usize; 2], operations: u64) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..operations {
        let at = ring.cursor();
        let element = at - ring.layout().pointer_offset();
        for word in words {
            sum = sum.wrapping_add(ring.word(element + word * 8));
        }
        ring.set_cursor(ring.next(at));
    }
    sum
}
