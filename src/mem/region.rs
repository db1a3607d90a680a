//! A borrowed run of bytes that starts on a cache line.

// Reinterprets the borrowed bytes as words and doubles, which a byte slice cannot do safely.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU64;

use super::LINE;

/// Borrowed memory that starts on a cache line and is a whole number of lines long.
///
/// Words are read and written at any byte offset, because a misaligned word is an experiment
/// here and not a mistake.
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

/// Why some bytes cannot be a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// No whole line is left once the start is rounded up to a line; holds the length in bytes.
    TooSmall(usize),
}

messages! { RegionError:
    RegionError::TooSmall(len) => (
        "{len} bytes hold no whole cache line; a region needs at least {} bytes", 2 * LINE - 1
    );
}

impl<'m> Region<'m> {
    /// Takes the whole lines inside `bytes`; what lies before and after them stays unused.
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
        Ok(Region {
            bytes: &mut bytes[skip..skip + whole],
        })
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.bytes.as_ptr().expose_provenance()
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// The bytes for as long as the region borrowed them.
    pub fn into_bytes(self) -> &'m mut [u8] {
        self.bytes
    }

    /// A shorter borrow of the same memory, so that one region serves several patterns in turn.
    pub fn reborrow(&mut self) -> Region<'_> {
        Region { bytes: self.bytes }
    }

    /// Parts the region at byte `at`, rounded up to a line. `None` if either side would be empty.
    pub fn split(self, at: usize) -> Option<(Region<'m>, Region<'m>)> {
        let at = at.checked_next_multiple_of(LINE)?;
        if at == 0 || at >= self.bytes.len() {
            return None;
        }
        let (low, high) = self.bytes.split_at_mut(at);
        Some((Region { bytes: low }, Region { bytes: high }))
    }

    /// The 8-byte word at byte `offset`, which need not be aligned.
    ///
    /// # Panics
    /// If the word does not lie inside the region.
    #[inline]
    pub fn word(&self, offset: usize) -> u64 {
        let (word, _) = self.bytes[offset..]
            .split_first_chunk()
            .expect("a word inside the region");
        u64::from_ne_bytes(*word)
    }

    /// Writes the 8-byte word at byte `offset`, which need not be aligned.
    ///
    /// # Panics
    /// If the word does not lie inside the region.
    #[inline]
    pub fn set_word(&mut self, offset: usize, value: u64) {
        let (word, _) = self.bytes[offset..]
            .split_first_chunk_mut()
            .expect("a word inside the region");
        *word = value.to_ne_bytes();
    }

    /// The wrapping sum of the 8-byte words in `bytes` bytes from `offset` on.
    #[inline]
    pub(crate) fn sum(&self, offset: usize, bytes: usize) -> u64 {
        let (words, _) = self.bytes[offset..offset + bytes].as_chunks::<8>();
        words
            .iter()
            .fold(0, |sum, word| u64::from_ne_bytes(*word).wrapping_add(sum))
    }

    /// The region as 32-bit words, for as long as the region borrowed its bytes.
    pub fn into_u32s(self) -> &'m mut [u32] {
        let len = self.bytes.len() / size_of::<u32>();
        // SAFETY: the bytes are borrowed for 'm and start on a line, every bit pattern is a u32,
        // and `len` words do not exceed them.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// The region as 64-bit words that threads share, for as long as the region borrowed its bytes.
    pub fn into_atomics(self) -> &'m [AtomicU64] {
        let len = self.bytes.len() / size_of::<AtomicU64>();
        // SAFETY: the bytes are borrowed for 'm, by nobody else, and start on a line; an AtomicU64
        // is laid out as a u64, every bit pattern is one, and `len` words do not exceed them.
        unsafe { core::slice::from_raw_parts(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// The region as doubles, for as long as the region borrowed its bytes.
    pub fn into_f64s(self) -> &'m mut [f64] {
        let len = self.bytes.len() / size_of::<f64>();
        // SAFETY: the bytes are borrowed for 'm and start on a line, every bit pattern is an f64,
        // and `len` doubles do not exceed them.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            Region::new(&mut bytes).unwrap_err(),
            RegionError::TooSmall(63)
        );
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
}
