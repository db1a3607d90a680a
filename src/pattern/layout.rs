//! Where the elements of a list lie.

use crate::mem::PAGE;

/// Bytes of a word: a pointer, or one element of `pad`.
pub(crate) const WORD: usize = 8;

/// The places of a list's elements: Drepper's `struct l { struct l *n; long pad[NPAD]; }` in an
/// array, or one a page, or at any other distance.
///
/// All figures are bytes. Element `i` lies `skew + i * stride + turned(i)` bytes past the start
/// of the region, where `turned` rotates by `turn` bytes from element to element inside a page
/// and is 0 for most layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    element: usize,
    stride: usize,
    skew: usize,
    turn: usize,
    pointer: usize,
}

/// Why a layout holds no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The elements would overlap: the distance is smaller than an element.
    Overlap {
        /// Distance asked for, in bytes.
        stride: usize,
        /// Size of an element, in bytes.
        element: usize,
    },
    /// The element has no such word.
    NoSuchWord {
        /// The word asked for.
        word: usize,
        /// Words in an element.
        words: usize,
    },
    /// A list needs at least one element.
    NoElements,
    /// The region is too small for the elements.
    RegionTooSmall {
        /// Bytes the list spans.
        needed: usize,
        /// Bytes the region has.
        region: usize,
    },
}

impl core::fmt::Display for LayoutError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            LayoutError::Overlap { stride, element } => write!(
                f,
                "elements of {element} bytes at a distance of {stride} bytes overlap; the distance must be at least {element}"
            ),
            LayoutError::NoSuchWord { word, words } => write!(
                f,
                "an element of {words} words has no word {word}; words are 0 to {}",
                words - 1
            ),
            LayoutError::NoElements => write!(f, "a list needs at least 1 element"),
            LayoutError::RegionTooSmall { needed, region } => {
                write!(f, "the list spans {needed} bytes, the region has {region}")
            }
        }
    }
}

impl core::error::Error for LayoutError {}

impl Layout {
    /// Elements with `npad` words of padding behind the pointer, one after the other.
    pub const fn npad(npad: usize) -> Self {
        let element = (npad + 1) * WORD;
        Layout {
            element,
            stride: element,
            skew: 0,
            turn: 0,
            pointer: 0,
        }
    }

    /// The same elements `stride` bytes apart.
    pub const fn spaced(self, stride: usize) -> Self {
        Layout { stride, ..self }
    }

    /// The same elements one a base page, all at the same offset: on a cache whose index lies
    /// within the page offset all of them map to one set.
    pub const fn one_a_page(self) -> Self {
        self.spaced(PAGE)
    }

    /// The same elements, each one element's size further into its page than the one before, and
    /// round again: spreads them over all sets.
    pub const fn rotating(self) -> Self {
        Layout {
            turn: self.element,
            ..self
        }
    }

    /// The same elements, `bytes` past where they were: 60 puts the first word across two lines.
    pub const fn skewed(self, bytes: usize) -> Self {
        Layout {
            skew: bytes,
            ..self
        }
    }

    /// The same elements with the pointer in word `word` instead of word 0.
    pub const fn pointer_in_word(self, word: usize) -> Self {
        Layout {
            pointer: word,
            ..self
        }
    }

    /// Bytes of an element.
    pub const fn element(&self) -> usize {
        self.element
    }

    /// Bytes from an element to the next.
    pub const fn stride(&self) -> usize {
        self.stride
    }

    /// Words of padding in an element.
    pub const fn padding(&self) -> usize {
        self.element / WORD - 1
    }

    /// Elements of a list whose elements add up to `working_set` bytes.
    pub const fn count(&self, working_set: usize) -> usize {
        working_set / self.element
    }

    /// Byte offset of the pointer inside an element.
    pub const fn pointer_offset(&self) -> usize {
        self.pointer * WORD
    }

    /// Byte offset of element `index` in the region.
    #[inline]
    pub const fn place(&self, index: usize) -> usize {
        // An element larger than a page has no room to turn in.
        let turned = if self.turn == 0 || self.turn > PAGE {
            0
        } else {
            index % (PAGE / self.turn) * self.turn
        };
        self.skew + index * self.stride + turned
    }

    /// Whether all words lie on multiples of their size.
    pub(super) const fn aligned(&self) -> bool {
        self.stride.is_multiple_of(WORD) && self.skew.is_multiple_of(WORD)
    }

    /// Bytes of region that `count` elements need.
    pub const fn span(&self, count: usize) -> usize {
        let turned = if self.turn == 0 { 0 } else { PAGE };
        self.skew + count.saturating_sub(1) * self.stride + turned + self.element
    }

    /// Checks that `count` elements fit `region` bytes and do not overlap.
    pub(crate) fn check(&self, count: usize, region: usize) -> Result<(), LayoutError> {
        let words = self.element / WORD;
        if self.pointer >= words {
            return Err(LayoutError::NoSuchWord {
                word: self.pointer,
                words,
            });
        }
        // A rotating element comes back to the start of its page, so it needs the page to itself.
        let room = if self.turn == 0 { self.element } else { PAGE };
        if self.stride < room {
            return Err(LayoutError::Overlap {
                stride: self.stride,
                element: room,
            });
        }
        if count == 0 {
            return Err(LayoutError::NoElements);
        }
        let needed = self.span(count);
        if needed > region {
            return Err(LayoutError::RegionTooSmall { needed, region });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            npad7.spaced(32).check(4, 4096),
            Err(LayoutError::Overlap {
                stride: 32,
                element: 64
            })
        );
        assert_eq!(
            npad7.rotating().check(4, 4096),
            Err(LayoutError::Overlap {
                stride: 64,
                element: 4096
            })
        );
        assert_eq!(
            npad7.pointer_in_word(8).check(4, 4096),
            Err(LayoutError::NoSuchWord { word: 8, words: 8 })
        );
        assert_eq!(npad7.check(0, 4096), Err(LayoutError::NoElements));
        assert_eq!(
            npad7.check(65, 4096),
            Err(LayoutError::RegionTooSmall {
                needed: 4160,
                region: 4096
            })
        );
    }
}
