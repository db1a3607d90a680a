//! The twin of [`Burst`](crate::kernel::Burst).

use crate::kernel::{BURST, Places};
use crate::mem::Region;

/// Makes `operations` bursts of accesses of `width` bytes, of which the first is number `done`
/// since the beginning, and returns the low 8 bytes of the value moved last, or 0.
///
/// # Panics
/// If an access does not lie in the region.
pub fn burst(
    region: &mut Region<'_>,
    places: Places,
    stores: bool,
    width: usize,
    done: u64,
    operations: u64,
) -> u64 {
    let mut last = [0; 8];
    for burst in done..done + operations {
        for k in 0..BURST {
            let place = places.place(places.index(burst), k);
            let bytes = &mut region.bytes_mut()[place..][..width];
            if stores {
                for part in bytes.chunks_mut(8) {
                    let index = places.index(burst + 1).to_le_bytes();
                    part.copy_from_slice(&index[..part.len()]);
                }
            }
            let low = width.min(8);
            last[..low].copy_from_slice(&bytes[..low]);
        }
    }
    u64::from_le_bytes(last)
}
