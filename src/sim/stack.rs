//! Simulates every associativity of one number of sets in one pass.
//!
//! Under LRU a set of w ways holds the w lines used last, so a set with more ways contains the lines of
//! one with fewer (R. L. Mattson and others, "Evaluation techniques for storage hierarchies", IBM
//! Systems Journal 9, 1970). One list per set, in order of use, therefore decides for every number of
//! ways whether a line hits: it hits if its distance from the front is smaller than the number of ways.

use alloc::boxed::Box;
use alloc::vec;

use super::geometry::{Geometry, GeometryError};
use super::reference::Reference;

/// No line.
const EMPTY: u64 = u64::MAX;

/// LRU caches with the same number of sets and every number of ways up to a maximum.
///
/// ```
/// use linefill::sim::{Reference, Stack};
///
/// let mut stack = Stack::new(64, 64, 16)?;
/// for address in (0..3).flat_map(|_| (0..48 << 10).step_by(64)) {
///     stack.reference(Reference::load(address, 8));
/// }
/// // 48 KiB in turn, three times: 12 ways hold it all, and 11 lose every line before its time.
/// assert_eq!(stack.misses(12), 768);
/// assert_eq!(stack.misses(11), 3 * 768);
/// # Ok::<(), linefill::sim::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    /// Geometry of the largest cache.
    geometry: Geometry,
    ways: usize,
    lines: Box<[u64]>,
    /// Number of references by the greatest depth of their lines; the last element counts references
    /// beyond all ways.
    depths: Box<[u64]>,
}

impl Stack {
    /// Returns caches of `sets` sets, lines of `line` bytes and 1 to `most_ways` ways.
    ///
    /// # Errors
    /// If no cache has this many sets and ways.
    pub fn new(sets: u64, line: u64, most_ways: u64) -> Result<Self, GeometryError> {
        let size = sets.saturating_mul(line).saturating_mul(most_ways);
        let geometry = Geometry::new(size, most_ways, line)?;
        let ways = geometry.ways() as usize;
        Ok(Stack {
            geometry,
            ways,
            lines: vec![EMPTY; geometry.lines() as usize].into_boxed_slice(),
            depths: vec![0; ways + 1].into_boxed_slice(),
        })
    }

    /// Returns the geometry of the largest cache.
    pub fn largest(&self) -> Geometry {
        self.geometry
    }

    /// Serves one reference in all caches. Returns the number of ways that a cache needs for a hit; if
    /// no cache hit, this exceeds the maximum.
    pub fn reference(&mut self, reference: Reference) -> usize {
        let [first, last] = reference.lines(self.geometry.offset_bits());
        let depth = (first..=last).fold(0, |depth, line| self.access(line).max(depth));
        self.depths[depth] += 1;
        depth + 1
    }

    /// Moves a line to the front of its set, and returns its previous distance from the front.
    fn access(&mut self, line: u64) -> usize {
        let first = self.geometry.set_of(line) as usize * self.ways;
        let list = &mut self.lines[first..][..self.ways];
        let mut carried = line;
        for (depth, place) in list.iter_mut().enumerate() {
            core::mem::swap(place, &mut carried);
            if carried == line {
                return depth;
            }
        }
        self.ways
    }

    /// Returns the number of references.
    pub fn references(&self) -> u64 {
        self.depths.iter().sum()
    }

    /// Returns the number of references that miss in the cache with `ways` ways.
    ///
    /// # Panics
    /// If there is no such cache: `ways` is 0 or above the maximum.
    pub fn misses(&self, ways: usize) -> u64 {
        assert!((1..=self.ways).contains(&ways), "1 to {} ways, not {ways}", self.ways);
        self.depths[ways..].iter().sum()
    }
}
