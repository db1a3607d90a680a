//! Words visited in any order, with repeated visits to a line: access sequences that distinguish
//! replacement policies.

use crate::mem::{Region, WORD};

/// Words of a region, each of which holds the address of the next word to visit; the last points to
/// the first.
///
/// Only this type writes the words, so that following them never leaves the region.
#[derive(Debug)]
pub struct Visits<'m> {
    region: Region<'m>,
    cursor: usize,
}

/// Why words cannot be visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VisitsError {
    /// There are no words.
    None,
    /// There is no word at this place: it is outside the region, or not a multiple of 8.
    NoWord(usize),
    /// This place is listed twice, but its word can hold only one address.
    Twice(usize),
}

messages! { VisitsError:
    VisitsError::None => ("there must be at least 1 place to visit");
    VisitsError::NoWord(place) => ("byte {place} is not the first of a word inside the region");
    VisitsError::Twice(place) => (
        "the word at byte {place} comes twice; another word of its line will do"
    );
}

impl<'m> Visits<'m> {
    /// Links the words at `places`, in bytes from the start of the region, in this order.
    ///
    /// # Errors
    /// If there is no place, or a place is not a word of the region or is listed twice.
    pub fn new(mut region: Region<'m>, places: &[usize]) -> Result<Self, VisitsError> {
        let first = *places.first().ok_or(VisitsError::None)?;
        for (index, &place) in places.iter().enumerate() {
            if place % WORD != 0 || place >= region.len() / WORD * WORD {
                return Err(VisitsError::NoWord(place));
            }
            if places[..index].contains(&place) {
                return Err(VisitsError::Twice(place));
            }
        }
        let start = region.address();
        let next = places.iter().skip(1).chain([&first]);
        for (&place, &next) in places.iter().zip(next) {
            region.set_word(place, (start + next) as u64);
        }
        Ok(Visits { cursor: start + first, region })
    }

    /// Address of the next word to visit.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to where a kernel stopped.
    ///
    /// # Panics
    /// If the region has no word at `address`.
    pub(crate) fn set_cursor(&mut self, address: usize) {
        let offset = self.offset(address);
        assert!(offset <= self.region.len() - WORD, "a walk left its words: {address:#x}");
        self.cursor = address;
    }

    /// Address of the word after the one at `address`.
    ///
    /// # Panics
    /// If `address` does not lie in the region.
    pub fn next(&self, address: usize) -> usize {
        self.region.word(self.offset(address)) as usize
    }

    /// Byte offset of `address` in the region; larger than the region if `address` lies before it.
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.region.address())
    }
}
