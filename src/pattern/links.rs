//! Rings whose elements refer to the next element in other ways than by its address.

use super::Ring;
use crate::mem::Region;

/// The representation of the next element's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Link {
    /// 8 bytes: the next element's address minus `less` bytes, which the load adds again.
    Address {
        /// The bytes subtracted.
        less: usize,
    },
    /// The next element's distance from the start of the region.
    Offset {
        /// Bytes of a link: 2, 4 or 8.
        bytes: usize,
        /// Unit of the distance, in bytes.
        unit: usize,
    },
}

impl Link {
    /// Bytes of a link.
    pub const fn bytes(self) -> usize {
        match self {
            Link::Address { .. } => 8,
            Link::Offset { bytes, .. } => bytes,
        }
    }
}

/// Why elements cannot be linked with some [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinksError {
    /// A distance does not fit into a signed link.
    TooFar {
        /// The distance, in the link's unit.
        distance: usize,
        /// Bytes of the link.
        bytes: usize,
    },
    /// The bytes of a link, if they are not 2, 4 or 8.
    Bytes(usize),
    /// The place of an element is not a multiple of the unit.
    NotWhole {
        /// The place of the element.
        place: usize,
        /// The unit.
        unit: usize,
    },
}

messages! { LinksError:
    LinksError::TooFar { distance, bytes } => (
        "a link of {bytes} bytes cannot hold {distance}; {} is the most", largest(*bytes)
    );
    LinksError::Bytes(bytes) => ("a link has 2, 4 or 8 bytes, not {bytes}");
    LinksError::NotWhole { place, unit } => (
        "an element at byte {place} cannot be named in units of {unit} bytes"
    );
}

/// Returns the largest number that a link of `bytes` bytes (2, 4 or 8) holds, whether it is loaded signed
/// or unsigned.
const fn largest(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes + 1)
}

/// A ring whose elements hold [`Link`]s instead of pointers. A link takes the low bytes of the pointer
/// word; the other bytes are 0. Only this type writes links, so that following them never leaves the
/// region.
#[derive(Debug)]
pub struct Links<'m> {
    region: Region<'m>,
    count: usize,
    link: Link,
    cursor: u64,
}

impl<'m> Links<'m> {
    /// Replaces the pointers of `ring`.
    ///
    /// # Errors
    /// If `link` is not possible, or cannot represent an element's place.
    pub fn new(ring: Ring<'m>, link: Link) -> Result<Self, LinksError> {
        if ![2, 4, 8].contains(&link.bytes()) {
            return Err(LinksError::Bytes(link.bytes()));
        }
        let (layout, count) = (*ring.layout(), ring.count());
        let start = ring.cursor();
        let mut links = Links { region: ring.into_region(), count, link, cursor: 0 };
        let base = links.region.address();
        for index in 0..count {
            let place = layout.place(index) + layout.pointer_offset();
            let next = links.region.word(place) as usize - base;
            let value = links.value(next)?;
            links.region.set_word(place, value);
        }
        links.cursor = links.value(start - base)?;
        Ok(links)
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Address of the first byte of the region, from which offsets count.
    pub fn base(&self) -> usize {
        self.region.address()
    }

    /// The link to the next element of a walk.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Moves the cursor to where a kernel stopped.
    ///
    /// # Panics
    /// If the link points outside the region.
    pub(crate) fn set_cursor(&mut self, link: u64) {
        let place = self.place(link);
        assert!(place <= self.region.len() - self.link.bytes(), "a walk left its links: {link:#x}");
        self.cursor = link;
    }

    /// Byte offset in the region of the link to which `link` points. Links of this ring give offsets inside
    /// the region.
    pub fn place(&self, link: u64) -> usize {
        match self.link {
            Link::Address { less } => (link as usize).wrapping_add(less).wrapping_sub(self.base()),
            Link::Offset { unit, .. } => (link as usize).saturating_mul(unit),
        }
    }

    /// The link to which `link` points.
    ///
    /// # Panics
    /// If `link` points outside the region.
    pub fn next(&self, link: u64) -> u64 {
        self.region.word(self.place(link))
    }

    /// The link to the element whose link is at byte `place`.
    fn value(&self, place: usize) -> Result<u64, LinksError> {
        match self.link {
            Link::Address { less } => Ok((self.base() + place).wrapping_sub(less) as u64),
            Link::Offset { unit, .. } if unit == 0 || !place.is_multiple_of(unit) => {
                Err(LinksError::NotWhole { place, unit })
            }
            Link::Offset { bytes, unit } => {
                let distance = place / unit;
                if distance as u64 > largest(bytes) {
                    return Err(LinksError::TooFar { distance, bytes });
                }
                Ok(distance as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::pattern::{Layout, Order};
    use core::iter::successors;
    use std::vec;

    const RANDOM: Order = Order::Random { seed: 4 };

    /// The places visited on the way round, by the ring and by its links.
    fn visited(link: Link) -> (vec::Vec<usize>, vec::Vec<usize>) {
        let mut bytes = vec![0u8; 32 * 1024];
        let mut region = Region::new(&mut bytes).unwrap();
        let layout = Layout::npad(7).pointer_in_word(2);
        let ring = Ring::new(region.reborrow(), layout, 300, RANDOM).unwrap();
        let all = successors(Some(ring.cursor()), |&at| Some(ring.next(at))).take(300);
        let by_ring = all.map(|at| ring.offset(at)).collect();
        let links = Links::new(ring, link).unwrap();
        let all = successors(Some(links.cursor()), |&at| Some(links.next(at))).take(300);
        (by_ring, all.map(|at| links.place(at)).collect())
    }

    #[test]
    fn links_of_every_kind_lead_where_the_pointers_led() {
        for link in [
            Link::Address { less: 0 },
            Link::Address { less: 4096 },
            Link::Offset { bytes: 8, unit: 1 },
            Link::Offset { bytes: 4, unit: 8 },
            Link::Offset { bytes: 2, unit: 1 },
        ] {
            let (by_ring, by_links) = visited(link);
            assert_eq!(by_ring, by_links, "{link:?}");
        }
    }

    #[test]
    fn a_place_that_a_link_cannot_tell_is_refused() {
        let mut bytes = vec![0u8; 64 * 1024];
        let mut region = Region::new(&mut bytes).unwrap();
        let ring = Ring::new(region.reborrow(), Layout::npad(7), 513, Order::Sequential).unwrap();
        let error = Links::new(ring, Link::Offset { bytes: 2, unit: 1 }).unwrap_err();
        assert_eq!(error, LinksError::TooFar { distance: 32768, bytes: 2 });
        assert!(std::format!("{error}").contains("32767 is the most"));
        let layout = Layout::npad(7).skewed(60);
        let ring = Ring::new(region, layout, 2, Order::Sequential).unwrap();
        let error = Links::new(ring, Link::Offset { bytes: 8, unit: 8 }).unwrap_err();
        assert!(matches!(error, LinksError::NotWhole { unit: 8, .. }));
    }

    #[test]
    fn links_that_there_are_not_are_refused() {
        let mut bytes = vec![0u8; 4096];
        let mut region = Region::new(&mut bytes).unwrap();
        let mut refused = |bytes, unit| {
            let region = region.reborrow();
            let ring = Ring::new(region, Layout::npad(7), 2, Order::Sequential).unwrap();
            Links::new(ring, Link::Offset { bytes, unit }).unwrap_err()
        };
        for bytes in [0, 1, 3, 9, 64, usize::MAX] {
            assert_eq!(refused(bytes, 1), LinksError::Bytes(bytes));
        }
        assert_eq!(refused(8, 0), LinksError::NotWhole { place: 64, unit: 0 });
    }
}
