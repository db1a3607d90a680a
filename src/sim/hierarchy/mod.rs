//! Several levels, the instruction cache, the TLBs and the prefetchers together.

mod design;
mod serve;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

pub use design::{
    HierarchyDesign, HierarchyError, Inclusion, Instructions, LONGEST_LINE, LevelDesign,
};

use super::cache::{Cache, Tlb};
use super::geometry::{Design, Geometry};
use super::level::Evicted;
use super::prefetch::Engine;
use super::reference::{Counters, Op, Reference, Side};

/// Lines that the write-combining buffers hold at the same time: the fill buffers of an Intel core since
/// Nehalem (Intel's optimization manual, "Write Combining").
const COMBINING: u64 = 10;

/// The traffic between the last level and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryCounters {
    /// Lines read.
    pub reads: u64,
    /// Lines and stores written.
    pub writes: u64,
}

/// A core's caches.
///
/// A reference that misses in a level goes to the next level as a whole, as in cachegrind. A reference
/// that touches two lines is one miss, whether one or both lines are absent, and the next level looks up
/// both.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    instructions: Option<Cache>,
    fetches: bool,
    levels: Vec<Level>,
    tlb: Option<Tlb>,
    /// Lines of non-temporal stores on their way to memory.
    combining: Cache,
    /// The last instruction fetched, for prefetchers.
    instruction: u64,
    /// Whether a level has prefetchers, which see every reference.
    prefetching: bool,
    /// Whether prefetchers or TLBs see every reference.
    watched: bool,
    /// Whether a level is exclusive, and so receives only victims.
    exclusive: bool,
    /// Whether all levels are non-inclusive, so that no level takes a line from another or removes it
    /// there.
    apart: bool,
    /// Victims on their way to an exclusive level.
    victims: Vec<Victim>,
    /// Lines that missed in an exclusive last level.
    missed_last: u64,
}

/// A victim, and the level that receives it.
#[derive(Clone, Copy, Debug)]
struct Victim {
    depth: usize,
    line: Evicted,
}

#[derive(Clone, Debug)]
struct Level {
    cache: Cache,
    inclusion: Inclusion,
    engines: Vec<Engine>,
}

impl Hierarchy {
    /// Returns empty caches.
    ///
    /// # Errors
    /// If the hierarchy is not valid.
    pub fn new(design: &HierarchyDesign) -> Result<Self, HierarchyError> {
        design.check()?;
        let levels: Vec<Level> = design
            .levels
            .iter()
            .map(|level| Level {
                cache: Cache::new(level.cache),
                inclusion: level.inclusion,
                engines: level
                    .prefetchers
                    .iter()
                    .map(|&kind| Engine::new(kind, level.cache.geometry.offset_bits()))
                    .collect(),
            })
            .collect();
        let prefetching = levels.iter().any(|level| !level.engines.is_empty());
        let line = levels[0].cache.geometry().line();
        let combining = Geometry::fully_associative(COMBINING * line, line);
        Ok(Hierarchy {
            instructions: match design.instructions {
                Instructions::Own(design) => Some(Cache::new(design)),
                _ => None,
            },
            fetches: design.instructions != Instructions::Ignored,
            prefetching,
            watched: prefetching || design.tlb.is_some(),
            apart: levels.iter().all(|level| level.inclusion == Inclusion::NonInclusive),
            exclusive: levels.iter().any(|level| level.inclusion == Inclusion::Exclusive),
            levels,
            tlb: design.tlb.map(Tlb::new),
            combining: Cache::new(Design::lru(combining.map_err(|_| HierarchyError::Line(1))?)),
            instruction: 0,
            victims: Vec::new(),
            missed_last: 0,
        })
    }

    /// Also counts per set.
    pub fn with_heat(mut self) -> Self {
        self.instructions = self.instructions.map(Cache::with_heat);
        for level in &mut self.levels {
            level.cache = level.cache.clone().with_heat();
        }
        self
    }

    /// Resets the counts. Lines and pages stay, so that the hierarchy is warm for the references that
    /// follow.
    pub fn forget_counts(&mut self) {
        let levels = self.levels.iter_mut().map(|level| &mut level.cache);
        for cache in levels.chain(&mut self.instructions) {
            cache.forget_counts();
        }
        if let Some(tlb) = &mut self.tlb {
            tlb.forget_counts();
        }
        self.combining.forget_counts();
        self.missed_last = 0;
    }

    /// Returns whether L1 holds both instructions and data.
    pub fn joint(&self) -> bool {
        self.fetches && self.instructions.is_none()
    }

    /// Returns the instruction cache, if it is separate.
    pub fn instructions(&self) -> Option<&Cache> {
        self.instructions.as_ref()
    }

    /// Returns L1d and the levels beyond it.
    pub fn levels(&self) -> impl Iterator<Item = &Cache> {
        self.levels.iter().map(|level| &level.cache)
    }

    /// Returns the counts of a level of data, L1d being 0; zeros beyond the last level.
    pub fn counters(&self, level: usize) -> Counters {
        self.levels.get(level).map(|level| level.cache.counters()).unwrap_or_default()
    }

    /// Returns the TLBs.
    pub fn tlb(&self) -> Option<&Tlb> {
        self.tlb.as_ref()
    }

    /// Returns the traffic with memory.
    pub fn memory(&self) -> MemoryCounters {
        let last = self.counters(self.levels.len() - 1);
        // Fills of an exclusive level come from the levels before it, not from memory.
        let mut reads = match self.levels.last() {
            Some(level) if level.inclusion == Inclusion::Exclusive => self.missed_last,
            _ => last.fills,
        };
        let mut writes = last.bus_writes + self.combining.counters().fills;
        if let (1, Some(instructions)) = (self.levels.len(), &self.instructions) {
            reads += instructions.counters().fills;
            writes += instructions.counters().bus_writes;
        }
        MemoryCounters { reads, writes }
    }

    /// Writes back every dirty line, as at the end of a program, and returns their number, in lines of the
    /// last level. The lines stay, clean.
    pub fn clean(&mut self) -> u64 {
        let mut lines = BTreeSet::new();
        let last = self.levels.len() - 1;
        // A line of memory is as long as those of the last level. Shorter lines in it are written together.
        let whole = self.levels[last].cache.geometry();
        let levels = self.levels.iter_mut().map(|level| &mut level.cache);
        for cache in levels.chain(&mut self.instructions) {
            let bytes = cache.geometry().line();
            cache.level.clean_each(|line| {
                lines.insert(whole.line_of(line * bytes));
            });
        }
        let written = lines.len() as u64;
        self.levels[last].cache.level.lines.write_backs += written;
        written
    }

    /// Serves one reference and returns whether it hit in L1. Ignored fetches count as hits.
    #[inline]
    pub fn reference(&mut self, reference: Reference) -> bool {
        if self.watched || reference.op == Op::NonTemporalStore {
            return self.serve_any(reference);
        }
        self.serve_unwatched(reference)
    }

    /// Serves many references in order: faster than one call per reference.
    pub fn references(&mut self, references: &[Reference]) {
        let mut rest = references;
        while let Some(served) = self.serve_many(rest) {
            rest = &rest[served..];
            // Non-temporal stores tend to follow each other.
            while let Some((&reference, behind)) = rest.split_first()
                && reference.op == Op::NonTemporalStore
            {
                self.reference(reference);
                rest = behind;
            }
        }
        for &reference in rest {
            self.reference(reference);
        }
    }

    /// Returns the side that an operation enters, or `None` if it is ignored.
    #[inline]
    pub(super) fn side(&self, op: Op) -> Option<Side> {
        match (op, &self.instructions) {
            (Op::Fetch, Some(_)) => Some(Side::Instructions),
            (Op::Fetch, None) if !self.fetches => None,
            _ => Some(Side::Data),
        }
    }

    #[inline]
    fn at(&self, side: Side, depth: usize) -> &Cache {
        match (side, depth, &self.instructions) {
            (Side::Instructions, 0, Some(cache)) => cache,
            _ => &self.levels[depth].cache,
        }
    }

    #[inline]
    fn at_mut(&mut self, side: Side, depth: usize) -> &mut Cache {
        match (side, depth, &mut self.instructions) {
            (Side::Instructions, 0, Some(cache)) => cache,
            _ => &mut self.levels[depth].cache,
        }
    }
}
