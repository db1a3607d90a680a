//! What a cache is to be.

use super::geometry::Geometry;
use super::policy::Replacement;

/// What a store does to a line that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteHit {
    /// Changes the line; it is written back when it makes way.
    #[default]
    Back,
    /// Changes the line and what lies behind it.
    Through,
}

/// What a store does whose line is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteMiss {
    /// Brings the line in first.
    #[default]
    Allocate,
    /// Goes past the level.
    Around,
}

/// What a cache is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    /// Size, ways and line.
    pub geometry: Geometry,
    /// Which line makes way.
    pub replacement: Replacement,
    /// What a store to a line does that is there.
    pub write_hit: WriteHit,
    /// What a store to a line does that is not there.
    pub write_miss: WriteMiss,
}

impl Design {
    /// LRU, write-back, write-allocate: what most documents mean by a cache.
    pub const fn lru(geometry: Geometry) -> Self {
        Design {
            geometry,
            replacement: Replacement::Lru,
            write_hit: WriteHit::Back,
            write_miss: WriteMiss::Allocate,
        }
    }

    /// The same with another replacement policy.
    pub const fn replacing(self, replacement: Replacement) -> Self {
        Design {
            replacement,
            ..self
        }
    }

    /// The same with another write policy.
    pub const fn writing(self, write_hit: WriteHit, write_miss: WriteMiss) -> Self {
        Design {
            write_hit,
            write_miss,
            ..self
        }
    }
}
