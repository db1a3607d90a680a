//! The twin of [`RoundTrip`](crate::kernel::RoundTrip), alone in its ring.

use crate::mem::Region;

/// Hands the token at byte `at` to itself, `operations` times; returns its value.
pub fn roundtrip(region: &mut Region<'_>, at: usize, operations: u64) -> u64 {
    for _ in 0..operations {
        let token = region.word(at);
        region.set_word(at, token.wrapping_add(1));
    }
    region.word(at)
}
