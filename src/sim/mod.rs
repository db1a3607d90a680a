//! Cache simulation: counts the hits, misses and line movements of a trace in any cache.
//!
//! A [`Cache`] is one level: any size, ways and line, any number of sets, a replacement policy
//! ([`Replacement`]) and a write policy. Its input is [`Reference`]s, which are accesses of this crate's
//! kernels or addresses from elsewhere. This module touches no hardware and needs no operating system.
//! Its memory is proportional to the caches, and independent of the length of the trace.

mod cache;
mod config;
mod geometry;
mod hierarchy;
mod level;
#[doc(hidden)]
pub mod mesi;
mod policy;
mod prefetch;
mod reference;
mod run;
mod stack;
#[doc(hidden)]
pub mod trace;

pub use cache::{Cache, Tlb, TlbDesign};
pub use config::ConfigError;
#[cfg(feature = "lab")]
pub(crate) use config::number;
#[doc(hidden)]
pub use geometry::MOST_LINES;
pub use geometry::Split;
pub use geometry::{Design, Geometry, GeometryError, WriteHit, WriteMiss};
#[doc(hidden)]
pub use hierarchy::LONGEST_LINE;
pub use hierarchy::{
    Hierarchy, HierarchyDesign, HierarchyError, Inclusion, Instructions, LevelDesign,
    MemoryCounters,
};
pub use policy::{Hit, Insert, ParseQlruError, Place, Update};
pub use policy::{Qlru, Replacement};
#[doc(hidden)]
pub use prefetch::MOST_AHEAD;
pub use prefetch::Prefetcher;
pub use reference::SetCounters;
pub use reference::{Counters, Op, Outcomes, Reference};
#[doc(hidden)]
pub use stack::Stack;
