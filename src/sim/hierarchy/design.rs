//! What a hierarchy is to be.

use alloc::vec::Vec;

use crate::sim::{Design, Geometry, Prefetcher, TlbDesign, WriteHit, WriteMiss};

/// What a level holds of the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
pub enum HierarchyError {
    /// No level at all.
    Empty,
    /// A level, counted from 1, has shorter lines than one before it.
    Line(usize),
    /// An inclusive or exclusive level cannot hold, or follow, what it is to hold: L1 cannot be
    /// either, and lines of different lengths or stores that go past or through the level before
    /// do not agree with a level, counted from 1, that is exclusive.
    Inclusion(usize),
}

impl core::fmt::Display for HierarchyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            HierarchyError::Empty => f.write_str("no level: there must be at least L1d"),
            HierarchyError::Line(level) => write!(
                f,
                "the lines of level {level} are shorter than those before it: they must be as \
                 long, or longer"
            ),
            HierarchyError::Inclusion(1) => {
                f.write_str("L1 has no level before it that it could include or exclude")
            }
            HierarchyError::Inclusion(level) => write!(
                f,
                "level {level} is exclusive: it takes only levels before it with lines of the same \
                 length that are written back and allocated"
            ),
        }
    }
}

impl core::error::Error for HierarchyError {}

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

    /// Says what is wrong with the design, if anything.
    ///
    /// # Errors
    /// If there is no such hierarchy.
    pub fn check(&self) -> Result<(), HierarchyError> {
        let first = self.levels.first().ok_or(HierarchyError::Empty)?;
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
