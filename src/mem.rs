//! Borrowed, aligned bytes, in which every pattern is laid out.
//!
//! Nothing here allocates. A [`Region`] borrows memory that another value owns (a mapping of `os`, a
//! static arena of a boot image), so that patterns and kernels work the same everywhere.

// Reinterprets the borrowed bytes as words and doubles, which a byte slice cannot do safely.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU64;

/// Bytes in a cache line of every x86-64 CPU to date (CPUID leaf 1, EBX bits 15..8, times 8).
pub const LINE: usize = 64;

/// Bytes of a word: a pointer, or an integer of 64 bits.
pub(crate) const WORD: usize = 8;

/// Bytes in a base page (Intel SDM volume 3A, table 4-14).
pub const PAGE: usize = 4096;

/// Borrowed memory that starts on a cache line and is a whole number of lines long.
///
/// Words are read and written at any byte offset, because misaligned words are the subject of
/// experiments and not a mistake.
///
/// ```
/// use linefill::mem::Region;
///
/// let mut memory = [0; 1000];
/// let mut region = Region::new(&mut memory)?;
/// assert_eq!((region.address() % 64, region.len() % 64), (0, 0));
/// region.set_word(60, 7);
/// assert_eq!(region.word(60), 7);
/// # Ok::<(), linefill::mem::RegionError>(())
/// ```
#[derive(Debug)]
pub struct Region<'m> {
    bytes: &'m mut [u8],
}

/// The reason why some bytes cannot be a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// No whole line is left once the start is rounded up to a line. Holds the length in bytes.
    TooSmall(usize),
}

messages! { RegionError:
    RegionError::TooSmall(len) => (
        "{len} bytes hold no whole cache line; a region needs at least {} bytes", 2 * LINE - 1
    );
}

impl<'m> Region<'m> {
    /// Takes the whole lines inside `bytes`. The bytes before and after them stay unused.
    ///
    /// # Errors
    /// [`RegionError::TooSmall`] if no whole line is left.
    pub fn new(bytes: &'m mut [u8]) -> Result<Self, RegionError> {
        let len = bytes.len();
        let skip = bytes.as_ptr().align_offset(LINE).min(len);
        let whole = (len - skip) / LINE * LINE;
        if whole == 0 {
            return Err(RegionError::TooSmall(len));
        }
        Ok(Region { bytes: &mut bytes[skip..skip + whole] })
    }

    /// Returns the length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.bytes.as_ptr().expose_provenance()
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Returns the bytes mutably.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Returns the bytes for the lifetime of the region's borrow.
    pub fn into_bytes(self) -> &'m mut [u8] {
        self.bytes
    }

    /// Returns a shorter borrow of the same memory, so that one region serves several patterns one after
    /// another.
    pub fn reborrow(&mut self) -> Region<'_> {
        Region { bytes: self.bytes }
    }

    /// Splits the region at byte `at`, rounded up to a line. Returns `None` if either side would be
    /// empty.
    pub fn split(self, at: usize) -> Option<(Region<'m>, Region<'m>)> {
        let at = at.checked_next_multiple_of(LINE)?;
        if at == 0 || at >= self.bytes.len() {
            return None;
        }
        let (low, high) = self.bytes.split_at_mut(at);
        Some((Region { bytes: low }, Region { bytes: high }))
    }

    /// Returns the 8-byte word at byte `offset`, which need not be aligned.
    ///
    /// # Panics
    /// If the word does not lie inside the region.
    #[inline]
    pub fn word(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.array(offset))
    }

    /// Returns the `N` bytes from byte `offset` on.
    ///
    /// # Panics
    /// If they do not lie inside the region.
    #[inline]
    pub(crate) fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        *self.bytes[offset..].first_chunk().expect("a word inside the region")
    }

    /// Writes the 8-byte word at byte `offset`, which need not be aligned.
    ///
    /// # Panics
    /// If the word does not lie inside the region.
    #[inline]
    pub fn set_word(&mut self, offset: usize, value: u64) {
        let word = self.bytes[offset..].first_chunk_mut().expect("a word inside the region");
        *word = value.to_ne_bytes();
    }

    /// Returns the wrapping sum of the 8-byte words in `bytes` bytes from `offset` on.
    #[inline]
    pub(crate) fn sum(&self, offset: usize, bytes: usize) -> u64 {
        let (words, _) = self.bytes[offset..offset + bytes].as_chunks::<8>();
        words.iter().fold(0, |sum, word| u64::from_ne_bytes(*word).wrapping_add(sum))
    }

    /// Returns the region as 32-bit words, for the lifetime of its borrow.
    pub fn into_u32s(self) -> &'m mut [u32] {
        let len = self.bytes.len() / size_of::<u32>();
        // SAFETY: the bytes are borrowed for 'm and start on a line, every bit pattern is a u32,
        // and `len` words do not exceed them.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// Returns the region as 64-bit words that threads can share, for the lifetime of its borrow.
    pub fn into_atomics(self) -> &'m [AtomicU64] {
        let len = self.bytes.len() / size_of::<AtomicU64>();
        // SAFETY: the bytes are borrowed for 'm exclusively and start on a line; an AtomicU64 is laid
        // out as a u64, every bit pattern is valid, and `len` words do not exceed them.
        unsafe { core::slice::from_raw_parts(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// Returns the region as doubles, for the lifetime of its borrow.
    pub fn into_f64s(self) -> &'m mut [f64] {
        let len = self.bytes.len() / size_of::<f64>();
        // SAFETY: the bytes are borrowed for 'm and start on a line, every bit pattern is an f64,
        // and `len` doubles do not exceed them.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }
}

/// A number of bytes, computed by sums and products that do not wrap.
///
/// Integers wrap in release builds: a product of huge arguments can come out small and seem to fit a
/// region. Here a number beyond `usize` becomes no number, remains so in further arithmetic, and fits
/// nowhere. Public functions return it as `usize::MAX`, a size that no memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(Option<usize>);

impl Span {
    /// Returns a span of `bytes` bytes; `usize::MAX` stands for a number that is too large.
    pub(crate) const fn of(bytes: usize) -> Self {
        Span(if bytes == usize::MAX { None } else { Some(bytes) })
    }

    /// Returns the sum of both.
    pub(crate) const fn plus(self, other: Span) -> Self {
        match (self.0, other.0) {
            (Some(one), Some(two)) => Span(one.checked_add(two)),
            _ => Span(None),
        }
    }

    /// Returns the number of bytes times `count`.
    pub(crate) const fn times(self, count: usize) -> Self {
        match self.0 {
            Some(bytes) => Span(bytes.checked_mul(count)),
            None => self,
        }
    }

    /// Rounds up to a multiple of `unit`. With a `unit` of 0 the result is no number.
    pub(crate) const fn whole(self, unit: usize) -> Self {
        match self.0 {
            Some(bytes) if unit > 0 => Span(bytes.checked_next_multiple_of(unit)),
            _ => Span(None),
        }
    }

    /// Whether the bytes fit into `room` bytes.
    pub(crate) const fn fits(self, room: usize) -> bool {
        matches!(self.0, Some(bytes) if bytes <= room)
    }

    /// Returns the error that `error` makes of the bytes and of `room` if the bytes do not fit into `room`.
    pub(crate) fn within<E>(self, room: usize, error: fn(usize, usize) -> E) -> Result<(), E> {
        if self.fits(room) { Ok(()) } else { Err(error(self.bytes(), room)) }
    }

    /// Returns the number of bytes, or `usize::MAX` if it is too large.
    pub(crate) const fn bytes(self) -> usize {
        match self.0 {
            Some(bytes) => bytes,
            None => usize::MAX,
        }
    }
}

impl core::fmt::Display for Span {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "{bytes} bytes"),
            None => f.write_str("more bytes than can be counted"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_region_starts_on_a_line_and_holds_whole_lines() {
        let mut bytes = [0u8; 300];
        let region = Region::new(&mut bytes[1..]).unwrap();
        assert_eq!(region.address() % LINE, 0);
        assert_eq!(region.len() % LINE, 0);
        assert!(region.len() >= 299 - 2 * (LINE - 1));
    }

    #[test]
    fn too_few_bytes_are_refused_with_their_number() {
        let mut bytes = [0u8; 63];
        assert_eq!(Region::new(&mut bytes).unwrap_err(), RegionError::TooSmall(63));
    }

    #[test]
    fn a_word_may_straddle_a_line() {
        let mut bytes = [0u8; 256];
        let mut region = Region::new(&mut bytes).unwrap();
        region.set_word(60, 0x0102_0304_0506_0708);
        assert_eq!(region.word(60), 0x0102_0304_0506_0708);
        assert_eq!(region.bytes()[60], 8);
        assert_eq!(region.bytes()[67], 1);
    }

    #[test]
    fn a_split_keeps_both_sides_on_lines() {
        let mut bytes = [0u8; 512];
        let region = Region::new(&mut bytes).unwrap();
        let (low, high) = region.split(65).unwrap();
        assert_eq!(low.len(), 128);
        assert_eq!(high.address(), low.address() + 128);
    }

    const HUGE: usize = usize::MAX / 2 + 1;

    #[test]
    fn what_can_be_counted_is_a_number() {
        let span = Span::of(10).times(6).plus(Span::of(1));
        assert_eq!(span.bytes(), 61);
        assert_eq!(span.whole(64).bytes(), 64);
        assert_eq!(span.to_string(), "61 bytes");
        assert!(span.fits(61) && !span.fits(60));
    }

    #[test]
    fn what_cannot_be_counted_fits_nowhere() {
        let uncounted = [
            Span::of(usize::MAX),
            Span::of(HUGE).times(2),
            Span::of(HUGE).plus(Span::of(HUGE)),
            Span::of(usize::MAX - 1).whole(64),
            Span::of(1).whole(0),
            Span::of(usize::MAX).times(0),
            Span::of(usize::MAX).plus(Span::of(0)),
        ];
        for span in uncounted {
            assert_eq!(span.bytes(), usize::MAX);
            assert!(!span.fits(usize::MAX));
            assert_eq!(span.to_string(), "more bytes than can be counted");
        }
    }
}
