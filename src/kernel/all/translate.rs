//! The twin of [`Translate`](crate::kernel::Translate).

/// Goes from `place` on in steps of `stride` bytes, round and round in `span` bytes, and returns
/// where it comes after `accesses` steps.
pub fn translate(place: usize, stride: usize, span: usize, accesses: u64) -> usize {
    (0..accesses).fold(place, |place, _| (place + stride) % span)
}
