//! The design of a hierarchy.

use alloc::vec::Vec;

use crate::sim::geometry::MOST_LINES;
use crate::sim::{Design, Geometry, Prefetcher, TlbDesign, WriteHit, WriteMiss};

/// The relation between the lines of a level and the lines of the levels nearer to the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inclusion {
    /// A line that is brought into a nearer level is brought into this level too; afterwards the two
    /// evict independently. Cachegrind simulates this, and most of Intel's L2 since Skylake-SP work so.
    #[default]
    NonInclusive,
    /// As non-inclusive, and a line that leaves this level is also removed from the nearer levels.
    Inclusive,
    /// Receives only the victims of the level before it, and gives a line up when it is used: a victim
    /// cache, such as the L3 of AMD Zen.
    Exclusive,
}

/// The design of a level of data, such as L1d or L2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelDesign {
    /// The cache.
    pub cache: Design,
    /// The relation to the levels nearer to the core.
    pub inclusion: Inclusion,
    /// The level's prefetchers; empty for an exclusive level.
    pub prefetchers: Vec<Prefetcher>,
}

impl LevelDesign {
    /// Returns a level without prefetchers.
    pub const fn new(cache: Design, inclusion: Inclusion) -> Self {
        LevelDesign { cache, inclusion, prefetchers: Vec::new() }
    }
}

/// The cache from which instructions are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instructions {
    /// Fetches are ignored.
    #[default]
    Ignored,
    /// L1 holds instructions and data.
    Shared,
    /// A separate instruction cache.
    Own(Design),
}

/// The design of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyDesign {
    /// The cache from which instructions are fetched.
    pub instructions: Instructions,
    /// L1d, then the shared levels, outwards from the core: at least one level.
    pub levels: Vec<LevelDesign>,
    /// The TLBs for data.
    pub tlb: Option<TlbDesign>,
}

/// Why a hierarchy is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HierarchyError {
    /// There is no level.
    Empty,
    /// A level, counted from 1, has shorter lines than a level before it.
    Line(usize),
    /// A level, counted from 1, cannot be inclusive or exclusive. L1 can be neither. An exclusive level
    /// needs levels before it that have the same line size and are write-back and write-allocate.
    Inclusion(usize),
    /// A cache has lines longer than [`LONGEST_LINE`] bytes.
    Long(u64),
    /// All caches and TLBs together have more than [`MOST_LINES`] lines.
    Large(u64),
    /// A level, counted from 1, has the same prefetcher twice.
    Prefetcher(usize),
    /// A level, counted from 1, is exclusive and has prefetchers. Such a level receives only victims.
    VictimsOnly(usize),
}

/// The longest line of a cache in bytes. It is limited because evicting a line removes all shorter
/// lines inside it one by one.
pub const LONGEST_LINE: u64 = 4096;

messages! { HierarchyError:
    HierarchyError::Empty => ("no level: there must be at least L1d");
    HierarchyError::Line(level) => (
        "the lines of level {level} are shorter than those before it: they must be as long, or \
         longer"
    );
    HierarchyError::Inclusion(1) => ("L1 has no level before it that it could include or exclude");
    HierarchyError::Long(line) => (
        "a line of {line} bytes: a cache has lines of 8 to {LONGEST_LINE} bytes"
    );
    HierarchyError::Large(lines) => (
        "{lines} lines in all caches and TLBs together: at most {MOST_LINES} can be simulated"
    );
    HierarchyError::Prefetcher(level) => (
        "level {level} has a prefetcher twice: each kind can be there once"
    );
    HierarchyError::VictimsOnly(level) => (
        "level {level} is exclusive and has a prefetcher: it receives only victims, and \
         prefetchers are for L1d and for levels that are ni or incl"
    );
    HierarchyError::Inclusion(level) => (
        "level {level} is exclusive: it takes only levels before it with lines of the same length \
         that are written back and allocated"
    );
}

impl HierarchyDesign {
    /// Returns the hierarchy that cachegrind simulates: I1, D1 and LL, all LRU.
    pub fn cachegrind(i1: Geometry, d1: Geometry, ll: Geometry) -> Self {
        let level = |geometry| LevelDesign::new(Design::lru(geometry), Inclusion::NonInclusive);
        HierarchyDesign {
            instructions: Instructions::Own(Design::lru(i1)),
            levels: alloc::vec![level(d1), level(ll)],
            tlb: None,
        }
    }

    /// Returns size, ways and line of every cache.
    fn caches(&self) -> impl Iterator<Item = Geometry> {
        let instructions = match self.instructions {
            Instructions::Own(design) => Some(design.geometry),
            Instructions::Ignored | Instructions::Shared => None,
        };
        let levels = self.levels.iter().map(|level| level.cache.geometry);
        instructions.into_iter().chain(levels)
    }

    /// Returns the number of lines of all caches and TLBs together. The memory of a simulation is
    /// proportional to it.
    pub fn lines(&self) -> u64 {
        let tlb = self.tlb.map(|tlb| tlb.levels());
        let tlbs = tlb.map(|(first, second)| first.lines() + second.map_or(0, |tlb| tlb.lines()));
        self.caches().map(|cache| cache.lines()).sum::<u64>() + tlbs.unwrap_or(0)
    }

    /// Checks the design.
    ///
    /// # Errors
    /// If the hierarchy is not valid.
    pub fn check(&self) -> Result<(), HierarchyError> {
        let first = self.levels.first().ok_or(HierarchyError::Empty)?;
        if let Some(cache) = self.caches().find(|cache| cache.line() > LONGEST_LINE) {
            return Err(HierarchyError::Long(cache.line()));
        }
        if self.lines() > MOST_LINES {
            return Err(HierarchyError::Large(self.lines()));
        }
        let twice = |level: &LevelDesign| {
            let kinds: Vec<_> = level.prefetchers.iter().map(core::mem::discriminant).collect();
            (1..kinds.len()).any(|index| kinds[..index].contains(&kinds[index]))
        };
        if let Some(index) = self.levels.iter().position(twice) {
            return Err(HierarchyError::Prefetcher(index + 1));
        }
        let idle = |level: &LevelDesign| {
            level.inclusion == Inclusion::Exclusive && !level.prefetchers.is_empty()
        };
        if let Some(index) = self.levels.iter().position(idle) {
            return Err(HierarchyError::VictimsOnly(index + 1));
        }
        if first.inclusion != Inclusion::NonInclusive {
            return Err(HierarchyError::Inclusion(1));
        }
        let mut before: Vec<&Design> = Vec::new();
        if let Instructions::Own(design) = &self.instructions {
            before.push(design);
        }
        before.push(&first.cache);
        for (index, level) in self.levels.iter().enumerate().skip(1) {
            let line = level.cache.geometry.line();
            if before.iter().any(|design| design.geometry.line() > line) {
                return Err(HierarchyError::Line(index + 1));
            }
            let agrees = |design: &&Design| {
                design.geometry.line() == line
                    && design.write_hit == WriteHit::Back
                    && design.write_miss == WriteMiss::Allocate
            };
            if level.inclusion == Inclusion::Exclusive && !before.iter().all(agrees) {
                return Err(HierarchyError::Inclusion(index + 1));
            }
            before.push(&level.cache);
        }
        Ok(())
    }
}
