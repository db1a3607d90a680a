//! The twins of [`Speculate`](crate::kernel::Speculate) and
//! [`SpeculateMiss`](crate::kernel::SpeculateMiss).

use crate::kernel::speculate::{MULTIPLIER, PLACES, STORE, TABLE, TIMES, WORD};
use crate::mem::Region;
use crate::pattern::Ring;

/// Stores the value, loads from the place whose turn it is, and multiplies, `operations` times.
/// Returns the value after the last.
pub fn speculate(region: &mut Region<'_>, mut value: u64, operations: u64) -> u64 {
    for left in (1..=operations).rev() {
        let turn = left as usize % PLACES;
        let place = region.word(TABLE + turn * WORD) as usize - region.address();
        region.set_word(STORE, value);
        value = (0..TIMES).fold(region.word(place), |product, _| {
            product.wrapping_mul(MULTIPLIER)
        });
    }
    value
}

/// Walks from the ring's cursor and from `other`, `steps` times, and writes down in the word at
/// the address `store` where the second came from. Returns where the second stopped.
///
/// Crate-private: `other` must be a pointer word of the ring and `store` padding, or the ring would
/// be broken.
pub(crate) fn speculate_miss(
    ring: &mut Ring<'_>,
    store: usize,
    mut other: usize,
    steps: u64,
) -> usize {
    for _ in 0..steps {
        ring.set_cursor(ring.next(ring.cursor()));
        ring.set_word(store, other as u64);
        other = ring.next(other);
    }
    other
}
