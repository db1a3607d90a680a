//! Circular lists that several threads walk at the same time.

use core::sync::atomic::{AtomicU64, Ordering};

use super::Layout;
use super::layout::Elements;
use crate::mem::WORD;

/// A [`Ring`](super::Ring) that several threads walk, each from its own position.
///
/// Its words are atomic, because several threads may write to the padding of an element at the same time.
/// The pointers are addresses, as in a ring, and are not written any more.
#[derive(Clone, Copy, Debug)]
pub struct SharedRing<'m> {
    pub(super) words: &'m [AtomicU64],
    /// Aligned to 8 bytes.
    pub(super) elements: Elements,
    /// Address of a pointer word.
    pub(super) first: usize,
}

impl SharedRing<'_> {
    /// The layout.
    pub fn layout(&self) -> &Layout {
        self.elements.layout()
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.elements.count()
    }

    /// Address of the pointer word at which walks begin.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Address of the pointer word after the one at `address`.
    ///
    /// # Panics
    /// If `address` does not lie in the ring's memory.
    pub fn next(&self, address: usize) -> usize {
        self.word(address) as usize
    }

    /// The word that contains `address`.
    ///
    /// # Panics
    /// If the word does not lie in the ring's memory.
    pub fn word(&self, address: usize) -> u64 {
        self.words[self.offset(address) / WORD].load(Ordering::Relaxed)
    }

    /// Writes a word of padding. Crate-private: a pointer word must not be overwritten.
    pub(crate) fn set_word(&self, address: usize, value: u64) {
        self.words[self.offset(address) / WORD].store(value, Ordering::Relaxed);
    }

    /// Byte offset of `address` in the ring's memory.
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.words.as_ptr().expose_provenance())
    }

    /// Address of the pointer word `offset` bytes into the ring's memory; `None` if there is no pointer
    /// word.
    pub fn pointer_at(&self, offset: usize) -> Option<usize> {
        let first = self.elements.pointer(0);
        let index = offset.checked_sub(first)? / self.layout().stride();
        let found = index < self.count() && self.elements.pointer(index) == offset;
        found.then(|| self.words.as_ptr().expose_provenance() + offset)
    }

    /// Whether `address` lies in the ring's memory.
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.offset(address) / WORD < self.words.len()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::super::{Order, Ring};
    use super::*;
    use crate::mem::Region;

    #[test]
    fn a_shared_ring_is_the_same_cycle() {
        let mut bytes = vec![0; 64 * 200];
        let region = Region::new(&mut bytes).unwrap();
        let layout = Layout::npad(7).pointer_in_word(3);
        let ring = Ring::new(region, layout, 150, Order::Random { seed: 9 }).unwrap();
        let first = ring.offset(ring.cursor());
        let second = ring.offset(ring.next(ring.cursor()));
        let shared = ring.share().unwrap();
        assert_eq!(shared.offset(shared.first()), first);
        assert_eq!(shared.offset(shared.next(shared.first())), second);
        let mut at = shared.first();
        for _ in 0..shared.count() {
            assert!(shared.holds(at));
            at = shared.next(at);
        }
        assert_eq!(at, shared.first());
    }

    #[test]
    fn only_pointer_words_are_found_as_such() {
        let mut bytes = vec![0; 4096 * 12];
        for layout in [
            Layout::npad(7).pointer_in_word(3),
            Layout::npad(7).skewed(8),
            Layout::npad(7).one_a_page().rotating(),
        ] {
            let region = Region::new(&mut bytes).unwrap();
            let ring = Ring::new(region, layout, 10, Order::Sequential).unwrap();
            let shared = ring.share().unwrap();
            let mut found = 0;
            for offset in 0..4096 * 11 {
                if let Some(address) = shared.pointer_at(offset) {
                    assert_eq!(shared.offset(address), offset);
                    assert!(shared.pointer_at(shared.offset(shared.next(address))).is_some());
                    found += 1;
                }
            }
            assert_eq!(found, 10, "{layout:?}");
        }
    }

    #[test]
    fn words_across_two_are_no_atomics() {
        let mut bytes = vec![0; 64 * 20];
        for (layout, aligned) in [
            (Layout::npad(7), true),
            (Layout::npad(7).skewed(8), true),
            (Layout::npad(7).skewed(60), false),
            (Layout::npad(0).spaced(60), false),
        ] {
            let region = Region::new(&mut bytes).unwrap();
            let ring = Ring::new(region, layout, 10, Order::Sequential).unwrap();
            assert_eq!(ring.share().is_some(), aligned, "{layout:?}");
        }
    }
}
