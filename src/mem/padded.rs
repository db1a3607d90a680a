//! Values kept apart from their neighbours.

/// A value followed by `N` bytes of padding that share no line with the next value.
///
/// `N` is a parameter because the question is often *which* distance separates two values:
/// 64 bytes keep them on different lines, 128 also defeat the adjacent-line prefetcher.
///
/// ```
/// use linefill::mem::Padded;
/// assert_eq!(size_of::<Padded<u64, 56>>(), 64);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Padded<T, const N: usize> {
    /// The value itself, at offset 0.
    pub value: T,
    padding: [u8; N],
}

impl<T, const N: usize> Padded<T, N> {
    /// Pads `value` with `N` zero bytes.
    pub const fn new(value: T) -> Self {
        Padded {
            value,
            padding: [0; N],
        }
    }
}
