//! An array of elements, and indices that pick each element once.

use super::{Order, Rng};
use crate::mem::{LINE, Region, Span, WORD};

/// Bytes of an index.
const INDEX: usize = 4;

/// Contiguous elements, the first on a line, and before them as many 32-bit indices, which select every
/// element once: in address order, or shuffled. An index counts words of 8 bytes from the first element.
#[derive(Debug)]
pub struct Picks<'m> {
    region: Region<'m>,
    element: usize,
    count: usize,
}

/// Why a region cannot hold the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PicksError {
    /// The bytes of an element, if they are not a positive number of words.
    Element(usize),
    /// The number of elements, if it is 0 or more than 32-bit indices can address.
    Count(usize),
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the indices and the elements.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { PicksError:
    PicksError::Element(bytes) => (
        "an element of {bytes} bytes is not a positive multiple of 8 bytes"
    );
    PicksError::Count(count) => (
        "{count} elements: the number must be from 1 to what 32-bit indices can address"
    );
    PicksError::RegionTooSmall { needed, region } => (
        "the elements need {needed}, the region has {region}", needed = Span::of(*needed)
    );
}

impl<'m> Picks<'m> {
    /// Bytes of region that `count` elements of `element` bytes need; `usize::MAX` if the number
    /// overflows.
    pub const fn span(element: usize, count: usize) -> usize {
        let elements = Span::of(element).times(count);
        first(count).plus(elements).bytes()
    }

    /// Writes indices and elements. The indices are shuffled for [`Order::Random`], and in address order
    /// for any other order. All words of the elements differ.
    ///
    /// # Errors
    /// If an element is not a whole number of words, or indices and elements do not fit.
    pub fn new(
        region: Region<'m>,
        element: usize,
        count: usize,
        order: Order,
    ) -> Result<Self, PicksError> {
        if element == 0 || !element.is_multiple_of(WORD) {
            return Err(PicksError::Element(element));
        }
        let words = (element / WORD).checked_mul(count);
        if count == 0 || words.is_none_or(|words| u32::try_from(words).is_err()) {
            return Err(PicksError::Count(count));
        }
        let needed = Self::span(element, count);
        let too_small = |needed, region| PicksError::RegionTooSmall { needed, region };
        Span::of(needed).within(region.len(), too_small)?;
        let mut picks = Picks { region, element, count };
        for number in 0..count {
            picks.set_index(number, number);
        }
        if let Order::Random { seed } = order {
            // Fisher and Yates.
            let mut rng = Rng::new(seed);
            for number in (1..count).rev() {
                let other = rng.below(number + 1);
                let (one, two) = (picks.index(number), picks.index(other));
                picks.set_index(number, two);
                picks.set_index(other, one);
            }
        }
        let mut rng = Rng::new(1);
        for place in (picks.first()..needed).step_by(WORD) {
            picks.region.set_word(place, rng.bits());
        }
        Ok(picks)
    }

    /// Bytes of an element.
    pub fn element(&self) -> usize {
        self.element
    }

    /// Number of elements, and of indices.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Byte offset of the first element.
    pub fn first(&self) -> usize {
        first(self.count).bytes()
    }

    /// Byte offset of the element that index `number` picks.
    ///
    /// # Panics
    /// If there is no such index.
    pub fn place(&self, number: usize) -> usize {
        assert!(number < self.count, "{} indices, not {number}", self.count);
        self.first() + self.index(number) * self.element
    }

    /// The memory of the indices and the elements.
    pub fn region(&self) -> &Region<'m> {
        &self.region
    }

    /// Number of the element that index `number` picks.
    fn index(&self, number: usize) -> usize {
        u32::from_ne_bytes(self.region.array(number * INDEX)) as usize / (self.element / WORD)
    }

    fn set_index(&mut self, number: usize, element: usize) {
        let words = (element * (self.element / WORD)) as u32;
        self.region.bytes_mut()[number * INDEX..][..INDEX].copy_from_slice(&words.to_ne_bytes());
    }
}

/// Byte offset of the first of `count` elements: the first line after their indices.
const fn first(count: usize) -> Span {
    Span::of(INDEX).times(count).whole(LINE)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const RANDOM: Order = Order::Random { seed: 5 };

    fn with<T>(element: usize, count: usize, order: Order, then: fn(Picks<'_>) -> T) -> T {
        let mut bytes = vec![0; Picks::span(element, count) + 2 * LINE];
        then(Picks::new(Region::new(&mut bytes).unwrap(), element, count, order).unwrap())
    }

    fn places(picks: Picks<'_>) -> Vec<usize> {
        (0..picks.count()).map(|number| picks.place(number)).collect()
    }

    #[test]
    fn every_element_is_picked_once_in_either_order() {
        for element in [8, 64, 72] {
            let ascending: Vec<usize> = (0..1000).map(|index| 4032 + index * element).collect();
            assert_eq!(with(element, 1000, Order::Sequential, places), ascending);
            let mut shuffled = with(element, 1000, RANDOM, places);
            assert_ne!(shuffled, ascending);
            shuffled.sort_unstable();
            assert_eq!(shuffled, ascending);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_value() {
        let mut bytes = [0; 1024];
        let mut region = Region::new(&mut bytes).unwrap();
        let mut refused =
            |element, count| Picks::new(region.reborrow(), element, count, RANDOM).unwrap_err();
        assert_eq!(refused(0, 4), PicksError::Element(0));
        assert_eq!(refused(12, 4), PicksError::Element(12));
        assert_eq!(refused(8, 0), PicksError::Count(0));
        assert_eq!(refused(64, 1 << 30), PicksError::Count(1 << 30));
        assert!(matches!(refused(64, 64), PicksError::RegionTooSmall { needed: 4352, .. }));
    }
}
