//! The places of a list's elements.

use crate::mem::{PAGE, Span, WORD};

/// The places of a list's elements: Drepper's `struct l { struct l *n; long pad[NPAD]; }` in an
/// array, or one per page, or at any other distance.
///
/// All numbers are bytes. Element `i` is `skew + i * stride + turned(i)` bytes after the start of the
/// region, where `turned` rotates by `turn` bytes from element to element inside a page and is 0 for
/// most layouts.
///
/// The constructors accept any numbers. A sum or product that overflows is `usize::MAX`, and such a layout
/// fits no region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    element: usize,
    stride: usize,
    skew: usize,
    turn: usize,
    pointer: usize,
}

/// Why a layout cannot hold a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// The elements would overlap: the distance is smaller than an element.
    Overlap {
        /// Requested distance, in bytes.
        stride: usize,
        /// Size of an element, in bytes.
        element: usize,
    },
    /// The element has no such word.
    NoSuchWord {
        /// The requested word.
        word: usize,
        /// Words per element.
        words: usize,
    },
    /// The list has no element.
    NoElements,
    /// The region is too small for the elements.
    RegionTooSmall {
        /// Bytes that the list spans; `usize::MAX` if the number overflows.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { LayoutError:
    LayoutError::Overlap { stride, element } => (
        "elements of {element} bytes at a distance of {stride} bytes overlap; the distance must be \
         at least {element}"
    );
    LayoutError::NoSuchWord { word, words } => (
        "an element of {words} words has no word {word}; words are 0 to {}", words.saturating_sub(1)
    );
    LayoutError::NoElements => ("a list needs at least 1 element");
    LayoutError::RegionTooSmall { needed, region } => (
        "the list spans {needed}, the region has {region}", needed = Span::of(*needed)
    );
}

impl Layout {
    /// Creates a layout of contiguous elements: a pointer and `npad` words of padding after it.
    pub const fn npad(npad: usize) -> Self {
        let element = Span::of(WORD).plus(Span::of(WORD).times(npad)).bytes();
        Layout { element, stride: element, skew: 0, turn: 0, pointer: 0 }
    }

    /// Sets the distance of the elements to `stride` bytes.
    pub const fn spaced(self, stride: usize) -> Self {
        Layout { stride, ..self }
    }

    /// Places one element per base page, all at the same offset: in a cache whose index lies within the
    /// page offset, all elements map to one set.
    pub const fn one_a_page(self) -> Self {
        self.spaced(PAGE)
    }

    /// Places each element one element's size further into its page than the one before, wrapping around:
    /// spreads the elements over all sets.
    pub const fn rotating(self) -> Self {
        Layout { turn: self.element, ..self }
    }

    /// Moves the elements by `bytes` bytes: 60 puts the first word across two lines.
    pub const fn skewed(self, bytes: usize) -> Self {
        Layout { skew: bytes, ..self }
    }

    /// Puts the pointer in word number `word` instead of word 0.
    pub const fn pointer_in_word(self, word: usize) -> Self {
        Layout { pointer: word, ..self }
    }

    /// Bytes of an element.
    pub const fn element(&self) -> usize {
        self.element
    }

    /// Bytes from one element to the next.
    pub const fn stride(&self) -> usize {
        self.stride
    }

    /// Words of padding per element.
    pub const fn padding(&self) -> usize {
        self.element / WORD - 1
    }

    /// Number of elements in a list of `working_set` bytes.
    pub const fn count(&self, working_set: usize) -> usize {
        working_set / self.element
    }

    /// Byte offset of the pointer inside an element.
    pub const fn pointer_offset(&self) -> usize {
        Span::of(WORD).times(self.pointer).bytes()
    }

    /// Byte offset of element `index` in the region; `usize::MAX` if the number overflows.
    #[inline]
    pub const fn place(&self, index: usize) -> usize {
        let last = Span::of(self.stride).times(index);
        let skewed = Span::of(self.skew).plus(last);
        skewed.plus(Span::of(self.turned(index))).bytes()
    }

    /// Bytes by which element `index` is rotated inside its page.
    #[inline]
    const fn turned(&self, index: usize) -> usize {
        // An element larger than a page has no room to rotate.
        if self.turn == 0 || self.turn > PAGE { 0 } else { index % (PAGE / self.turn) * self.turn }
    }

    /// Whether all words are aligned to their size.
    pub(super) const fn aligned(&self) -> bool {
        self.stride.is_multiple_of(WORD) && self.skew.is_multiple_of(WORD)
    }

    /// Bytes of region that `count` elements need; `usize::MAX` if the number overflows.
    pub const fn span(&self, count: usize) -> usize {
        self.needed(count).bytes()
    }

    const fn needed(&self, count: usize) -> Span {
        let turned = if self.turn == 0 { 0 } else { PAGE };
        let last = Span::of(self.stride).times(count.saturating_sub(1));
        let skewed = Span::of(self.skew).plus(last);
        skewed.plus(Span::of(turned)).plus(Span::of(self.element))
    }

    /// Returns `count` elements, after the check that they fit in `region` bytes and do not overlap.
    pub(super) fn bind(self, count: usize, region: usize) -> Result<Elements, LayoutError> {
        let words = self.element / WORD;
        if self.pointer >= words {
            return Err(LayoutError::NoSuchWord { word: self.pointer, words });
        }
        // A rotating element wraps around inside its page, so it needs the page to itself.
        let room = if self.turn == 0 { self.element } else { self.element.max(PAGE) };
        if self.stride < room {
            return Err(LayoutError::Overlap { stride: self.stride, element: room });
        }
        if count == 0 {
            return Err(LayoutError::NoElements);
        }
        let too_small = |needed, region| LayoutError::RegionTooSmall { needed, region };
        self.needed(count).within(region, too_small)?;
        Ok(Elements { layout: self, count })
    }
}

/// The elements of a list that fits its region, so that their places need no overflow checks.
///
/// Only [`Layout::bind`] creates this type, so that plain arithmetic is safe with all numbers of the
/// layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    layout: Layout,
    count: usize,
}

impl Elements {
    /// The layout.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of elements, at least 1.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Byte offset in the region of the pointer word of element `index`, which must exist.
    #[inline]
    pub(super) fn pointer(&self, index: usize) -> usize {
        debug_assert!(index < self.count, "element {index} of {}", self.count);
        let layout = &self.layout;
        layout.skew + index * layout.stride + layout.turned(index) + layout.pointer * WORD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Layout {
        fn refused(self, count: usize, region: usize) -> Option<LayoutError> {
            self.bind(count, region).err()
        }
    }

    #[test]
    fn drepper_sizes() {
        for (npad, bytes) in [(0, 8), (1, 16), (7, 64), (15, 128), (31, 256)] {
            assert_eq!(Layout::npad(npad).element(), bytes);
            assert_eq!(Layout::npad(npad).count(1 << 20), (1 << 20) / bytes);
        }
    }

    #[test]
    fn a_rotating_offset_visits_every_line_of_the_page_and_stays_inside_it() {
        let layout = Layout::npad(7).one_a_page().rotating();
        for index in 0..200 {
            let place = layout.place(index);
            assert_eq!(place / PAGE, index);
            assert_eq!(place % PAGE, index % 64 * 64);
        }
    }

    #[test]
    fn impossible_layouts_are_refused_by_value() {
        let npad7 = Layout::npad(7);
        for (layout, count, error) in [
            (npad7.spaced(32), 4, LayoutError::Overlap { stride: 32, element: 64 }),
            (npad7.rotating(), 4, LayoutError::Overlap { stride: 64, element: 4096 }),
            (npad7.pointer_in_word(8), 4, LayoutError::NoSuchWord { word: 8, words: 8 }),
            (npad7, 0, LayoutError::NoElements),
            (npad7, 65, LayoutError::RegionTooSmall { needed: 4160, region: 4096 }),
        ] {
            assert_eq!(layout.refused(count, 4096), Some(error));
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let huge = [
            Layout::npad(usize::MAX),
            Layout::npad(usize::MAX / 8 - 8).skewed(4096),
            Layout::npad(15).skewed(0_usize.wrapping_sub(64)),
            Layout::npad(0).spaced(usize::MAX / 2 + 5),
            Layout::npad(usize::MAX / 8).rotating().spaced(usize::MAX),
        ];
        for layout in huge {
            let too_small = LayoutError::RegionTooSmall { needed: usize::MAX, region: 4096 };
            assert_eq!(layout.refused(3, 4096), Some(too_small), "{layout:?}");
            assert_eq!(layout.span(3), usize::MAX);
        }
        assert_eq!(Layout::npad(0).pointer_in_word(usize::MAX).pointer_offset(), usize::MAX);
        assert_eq!(Layout::npad(0).place(usize::MAX), usize::MAX);
    }

    #[test]
    fn rotating_elements_larger_than_a_page_need_their_own_size() {
        let layout = Layout::npad(1023).one_a_page().rotating();
        let overlap = LayoutError::Overlap { stride: PAGE, element: 8192 };
        assert_eq!(layout.refused(2, 1 << 20), Some(overlap));
    }
}
