//! Fixed-capacity storage: CPUID reports only short lists, and this module allocates nothing.

use core::fmt;
use core::ops::Deref;

/// Up to `N` items, read as a slice.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy, const N: usize> List<T, N> {
    /// Returns an empty list. `filler` occupies the unused places and is never visible.
    pub(super) const fn new(filler: T) -> Self {
        List { items: [filler; N], len: 0 }
    }

    /// Appends `item`, or drops it if the list is full: `N` exceeds what any CPU reports.
    pub(super) fn push(&mut self, item: T) {
        if let Some(place) = self.items.get_mut(self.len) {
            *place = item;
            self.len += 1;
        }
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An ASCII string of at most `N` bytes, read as a `str`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// Keeps the printable ASCII of `text` up to its first NUL, without leading and trailing spaces.
    pub(crate) fn new(text: &[u8]) -> Self {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut bytes = [0; N];
        let mut len = 0;
        for byte in text.trim_ascii().iter().take(N) {
            if matches!(byte, b' '..=b'~') {
                bytes[len] = *byte;
                len += 1;
            }
        }
        Text { bytes, len }
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        // Never fails: `new` keeps only printable ASCII.
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{List, Text};

    #[test]
    fn a_full_list_keeps_its_first_items() {
        let mut list = List::<u8, 2>::new(0);
        assert!(list.is_empty());
        for item in [7, 8, 9] {
            list.push(item);
        }
        assert_eq!(*list, [7, 8]);
    }

    #[test]
    fn text_ends_at_nul_and_loses_outer_spaces_and_unprintable_bytes() {
        assert_eq!(&*Text::<16>::new(b"  AMD\x07 EPYC \0tail"), "AMD EPYC");
        assert_eq!(&*Text::<4>::new(b"abcdef"), "abcd");
        assert_eq!(&*Text::<4>::new(&[0xff, 0]), "");
    }
}
