//! Caches in software: what a trace does in any cache, and how often.
//!
//! A [`Cache`] is one level: any size, ways and line, any number of sets, a replacement policy
//! ([`Replacement`]) and a write policy. It takes [`Reference`]s, which are the accesses of this
//! crate's kernels or addresses from elsewhere, and counts. Nothing here touches hardware or needs
//! an operating system; memory is proportional to the caches and never to the trace.

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
mod stripped;
#[doc(hidden)]
pub mod trace;

pub use cache::{Cache, Tlb, TlbDesign};
pub use config::ConfigError;
pub use geometry::{Design, Geometry, GeometryError, WriteHit, WriteMiss};
#[doc(hidden)]
pub use geometry::{MOST_LINES, Split};
#[doc(hidden)]
pub use hierarchy::LONGEST_LINE;
pub use hierarchy::{
    Hierarchy, HierarchyDesign, HierarchyError, Inclusion, Instructions, LevelDesign,
    MemoryCounters,
};
#[doc(hidden)]
pub use policy::{Hit, Insert, ParseQlruError, Place, Update};
pub use policy::{Qlru, Replacement};
#[doc(hidden)]
pub use prefetch::MOST_AHEAD;
pub use prefetch::Prefetcher;
#[doc(hidden)]
pub use reference::SetCounters;
pub use reference::{Counters, Op, Outcomes, Reference};
#[doc(hidden)]
pub use stack::Stack;
#[doc(hidden)]
pub use stripped::{NotTold, Stripped};
