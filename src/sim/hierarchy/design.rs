//! What a hierarchy is to be.

use alloc::vec::Vec;

use crate::sim::geometry::MOST_LINES;
use crate::sim::{Design, Geometry, Prefetcher, TlbDesign, WriteHit, WriteMiss};

/// What a level holds of the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inclusion {
    /// Every line that comes in for a level before comes in here as well; afterwards each goes its
    /// own way. What cachegrind simulates, and most L2 of Intel since Skylake-SP.
    #[default]
    NonInclusive,
    /// The same, and a line that goes here goes in the levels before.
    Inclusive,
    /// Only what made way in the level before comes in, and goes again when it is used: a victim
    /// cache, such as the L3 of AMD Zen.
    Exclusive,
}

/// A level behind L1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelDesign {
    /// The cache.
    pub cache: Design,
    /// What it holds of the levels before it.
    pub inclusion: Inclusion,
    /// Its prefetchers.
    pub prefetchers: Vec<Prefetcher>,
}

impl LevelDesign {
    /// A level without prefetchers.
    pub const fn new(cache: Design, inclusion: Inclusion) -> Self {
        LevelDesign {
            cache,
            inclusion,
            prefetchers: Vec::new(),
        }
    }
}

/// Where instructions are fetched from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instructions {
    /// Fetches are passed over.
    #[default]
    Ignored,
    /// L1 takes instructions and data.
    Shared,
    /// A cache of their own.
    Own(Design),
}

/// What a hierarchy is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyDesign {
    /// Where instructions are fetched from.
    pub instructions: Instructions,
    /// L1d, then the shared levels, from the core outwards: at least one.
    pub levels: Vec<LevelDesign>,
    /// The TLBs of data.
    pub tlb: Option<TlbDesign>,
}

/// Why there is no such hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HierarchyError {
    /// No level at all.
    Empty,
    /// A level, counted from 1, has shorter lines than one before it.
    Line(usize),
    /// An inclusive or exclusive level cannot hold, or follow, what it is to hold: L1 cannot be
    /// either, and lines of different lengths or stores that go past or through the level before
    /// do not agree with a level, counted from 1, that is exclusive.
    Inclusion(usize),
    /// A cache has lines of more than [`LONGEST_LINE`] bytes.
    Long(u64),
    /// All caches and TLBs together have more than [`MOST_LINES`] lines.
    Large(u64),
    /// A level, counted from 1, has the same prefetcher twice.
    Prefetcher(usize),
}

/// The longest line of a cache in bytes. A level that gives up a line takes away all shorter ones
/// inside it, one by one.
pub const LONGEST_LINE: u64 = 4096;

messages! { HierarchyError:
    HierarchyError::Empty => ("no level: there must be at least L1d");
    HierarchyError::Line(level) => (
        "the lines of level {level} are shorter than those before it: they must be as \
            long, or longer"
    );
    HierarchyError::Inclusion(1) => ("L1 has no level before it that it could include or exclude");
    HierarchyError::Long(line) => (
        "a line of {line} bytes: a cache has lines of 8 to {LONGEST_LINE} bytes"
    );
    HierarchyError::Large(lines) => (
        "{lines} lines in all caches and TLBs together: at most {MOST_LINES} can be \
            simulated"
    );
    HierarchyError::Prefetcher(level) => (
        "level {level} has a prefetcher twice: each kind can be there once"
    );
    HierarchyError::Inclusion(level) => (
        "level {level} is exclusive: it takes only levels before it with lines of the same \
            length that are written back and allocated"
    );
}

impl HierarchyDesign {
    /// L1 alone.
    pub fn of(cache: Design) -> Self {
        HierarchyDesign {
            instructions: Instructions::Ignored,
            levels: alloc::vec![LevelDesign::new(cache, Inclusion::NonInclusive)],
            tlb: None,
        }
    }

    /// What cachegrind simulates: I1, D1 and LL, all LRU.
    pub fn cachegrind(i1: Geometry, d1: Geometry, ll: Geometry) -> Self {
        let level = |geometry| LevelDesign::new(Design::lru(geometry), Inclusion::NonInclusive);
        HierarchyDesign {
            instructions: Instructions::Own(Design::lru(i1)),
            levels: alloc::vec![level(d1), level(ll)],
            tlb: None,
        }
    }

    /// Size, ways and line of every cache.
    fn caches(&self) -> impl Iterator<Item = Geometry> {
        let instructions = match self.instructions {
            Instructions::Own(design) => Some(design.geometry),
            Instructions::Ignored | Instructions::Shared => None,
        };
        let levels = self.levels.iter().map(|level| level.cache.geometry);
        instructions.into_iter().chain(levels)
    }

    /// Lines of all caches and TLBs together, to which the memory of a simulation is proportional.
    pub fn lines(&self) -> u64 {
        let tlb = self.tlb.map(|tlb| tlb.levels());
        let tlbs = tlb.map(|(first, second)| first.lines() + second.map_or(0, |tlb| tlb.lines()));
        self.caches().map(|cache| cache.lines()).sum::<u64>() + tlbs.unwrap_or(0)
    }

    /// Says what is wrong with the design, if anything.
    ///
    /// # Errors
    /// If there is no such hierarchy.
    pub fn check(&self) -> Result<(), HierarchyError> {
        let first = self.levels.first().ok_or(HierarchyError::Empty)?;
        if let Some(cache) = self.caches().find(|cache| cache.line() > LONGEST_LINE) {
            return Err(HierarchyError::Long(cache.line()));
        }
        if self.lines() > MOST_LINES {
            return Err(HierarchyError::Large(self.lines()));
        }
        let twice = |level: &LevelDesign| {
            let kinds = level.prefetchers.iter().enumerate();
            kinds.into_iter().any(|(index, prefetcher)| {
                let kind = core::mem::discriminant(prefetcher);
                let before = level.prefetchers[..index].iter();
                before
                    .map(core::mem::discriminant)
                    .any(|other| other == kind)
            })
        };
        if let Some(index) = self.levels.iter().position(twice) {
            return Err(HierarchyError::Prefetcher(index + 1));
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
