//! Rings for interleaved walks, which keep as many loads outstanding as there are rings.

use super::{Layout, LayoutError, Order, Ring};
use crate::mem::{LINE, Region, Span, WORD};

/// Byte offset of the first ring, after the cursors.
const RINGS: usize = Lanes::MOST * WORD;

/// Up to 128 random rings in separate parts of one region. Before them is an array of cursors: the address
/// of the next pointer word of each walk.
///
/// The parts have equal lengths and an element is a line, so that the walks share only the caches. The
/// total number of lines does not depend on the number of rings. Only this type writes pointers, so every
/// walk stays inside its ring.
#[derive(Debug)]
pub struct Lanes<'m> {
    region: Region<'m>,
    lanes: usize,
    count: usize,
}

/// Why a region cannot hold the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LanesError {
    /// The number of lanes, if it is 0 or more than the number of cursors.
    Lanes(usize),
    /// The rings do not fit.
    Layout(LayoutError),
}

messages! { LanesError:
    LanesError::Lanes(lanes) => ("{lanes} lanes are not 1 to {}", Lanes::MOST);
    LanesError::Layout(error) => ("{error}");
}

impl<'m> Lanes<'m> {
    /// The maximum number of lanes.
    pub const MOST: usize = 128;

    /// Bytes of region that rings of `lines` lines in total need, for any number of rings; `usize::MAX` if
    /// the number overflows.
    pub const fn span(lines: usize) -> usize {
        Self::needed(lines).bytes()
    }

    const fn needed(lines: usize) -> Span {
        Span::of(RINGS).plus(Span::of(LINE).times(lines))
    }

    /// Builds `lanes` random rings of `lines` lines in total, without the remainder of the division.
    ///
    /// # Errors
    /// If there is no ring, too many rings, or the rings do not fit.
    pub fn new(
        mut region: Region<'m>,
        lanes: usize,
        lines: usize,
        seed: u64,
    ) -> Result<Self, LanesError> {
        if lanes == 0 || lanes > Self::MOST {
            return Err(LanesError::Lanes(lanes));
        }
        let count = lines / lanes;
        if count == 0 {
            return Err(LanesError::Layout(LayoutError::NoElements));
        }
        let too_small = |needed, region| LayoutError::RegionTooSmall { needed, region };
        Self::needed(lines).within(region.len(), too_small).map_err(LanesError::Layout)?;
        for lane in 0..lanes {
            let from = RINGS + lane * count * LINE;
            let part = &mut region.bytes_mut()[from..from + count * LINE];
            let part = Region::new(part).expect("a ring begins on a line and has one");
            let order = Order::Random { seed: seed.wrapping_add(lane as u64) };
            let ring = Ring::new(part, Layout::npad(7), count, order);
            let cursor = ring.map_err(LanesError::Layout)?.cursor();
            region.set_word(lane * WORD, cursor as u64);
        }
        Ok(Lanes { region, lanes, count })
    }

    /// Number of rings.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Lines per ring.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Byte offset of the cursor of `lane`; `usize::MAX` if the number overflows.
    pub const fn cursor_place(lane: usize) -> usize {
        Span::of(WORD).times(lane).bytes()
    }

    /// Byte offset of the next pointer word of the walk in `lane`.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn cursor(&self, lane: usize) -> usize {
        assert!(lane < self.lanes, "lane {lane} of {}", self.lanes);
        self.region.word(Self::cursor_place(lane)) as usize - self.region.address()
    }

    /// Advances the walk in `lane` by a step, and returns its new cursor.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn step(&mut self, lane: usize) -> usize {
        let next = self.region.word(self.cursor(lane));
        self.region.set_word(Self::cursor_place(lane), next);
        self.cursor(lane)
    }

    /// The whole memory, for the kernel that moves the cursors.
    pub(crate) fn region_mut(&mut self) -> &mut Region<'m> {
        &mut self.region
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeSet;
    use std::vec;

    #[test]
    fn lanes_share_no_line_and_each_is_one_cycle() {
        let mut bytes = vec![0; Lanes::span(100) + LINE];
        let mut lanes = Lanes::new(Region::new(&mut bytes).unwrap(), 3, 100, 5).unwrap();
        assert_eq!(lanes.count(), 33);
        let mut seen = BTreeSet::new();
        for lane in 0..3 {
            let first = lanes.cursor(lane);
            for _ in 0..33 {
                assert!(seen.insert(lanes.cursor(lane) / LINE));
                lanes.step(lane);
            }
            assert_eq!(lanes.cursor(lane), first);
        }
    }

    #[test]
    fn what_cannot_be_built_is_refused_by_value() {
        let mut bytes = vec![0; Lanes::span(10) + LINE];
        let mut region = Region::new(&mut bytes).unwrap();
        for lanes in [0, Lanes::MOST + 1] {
            let refused = Lanes::new(region.reborrow(), lanes, 10, 1).unwrap_err();
            assert_eq!(refused, LanesError::Lanes(lanes));
        }
        let refused = Lanes::new(region.reborrow(), 11, 10, 1).unwrap_err();
        assert_eq!(refused, LanesError::Layout(LayoutError::NoElements));
        assert!(Lanes::new(region.reborrow(), 1, 1000, 1).is_err());
        // Times 64 it is 64 more than 2^64.
        let wraps = Lanes::new(region, 1, (1 << 58) + 1, 1).unwrap_err();
        let LanesError::Layout(LayoutError::RegionTooSmall { needed, .. }) = wraps else {
            panic!("{wraps}");
        };
        assert_eq!(needed, usize::MAX);
    }
}
