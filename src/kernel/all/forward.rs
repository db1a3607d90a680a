//! The twin of [`Forward`](crate::kernel::Forward).

use crate::kernel::Trip;
use crate::mem::Region;

/// Bytes of the widest value.
const WIDEST: usize = 64;

/// Passes `value` through memory `operations` times, from byte `store` of the region to `load`
/// bytes behind it, and returns its low 8 bytes; `operations` are added to it first.
pub fn forward(
    region: &mut Region<'_>,
    trip: Trip,
    store: usize,
    load: isize,
    value: u64,
    operations: u64,
) -> u64 {
    if operations == 0 {
        return value;
    }
    let mut register = [0; WIDEST];
    for part in register.chunks_exact_mut(8) {
        part.copy_from_slice(&value.wrapping_add(operations).to_le_bytes());
    }
    let from = store.wrapping_add_signed(load);
    for _ in 0..operations {
        for part in region.bytes_mut()[store..store + trip.written()].chunks_mut(trip.store) {
            part.copy_from_slice(&register[..trip.store]);
        }
        register = [0; WIDEST];
        register[..trip.load].copy_from_slice(&region.bytes()[from..from + trip.load]);
    }
    let mut low = [0; 8];
    low.copy_from_slice(&register[..8]);
    u64::from_le_bytes(low)
}
