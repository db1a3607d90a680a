//! Caches in software: what a trace does in any cache, and how often.
//!
//! A [`Cache`] is one level: any size, ways and line, any number of sets, a replacement policy
//! ([`Replacement`]) and a write policy. It takes [`Reference`]s, which are the accesses of this
//! crate's kernels or addresses from elsewhere, and counts. Nothing here touches hardware or needs
//! an operating system; memory is proportional to the caches and never to the trace.

mod cache;
mod config;
mod counters;
mod design;
mod geometry;
mod hierarchy;
mod level;
pub mod mesi;
mod policy;
mod prefetch;
mod reference;
mod stack;
mod stripped;
mod tlb;
pub mod trace;

pub use cache::Cache;
pub use config::ConfigError;
pub use counters::{Counters, Outcomes, SetCounters};
pub use design::{Design, WriteHit, WriteMiss};
pub use geometry::{Geometry, GeometryError, MOST_LINES, Split};
pub use hierarchy::{
    Hierarchy, HierarchyDesign, HierarchyError, Inclusion, Instructions, LONGEST_LINE, LevelDesign,
    MemoryCounters,
};
pub use policy::{Hit, Insert, ParseQlruError, Place, Qlru, Replacement, Update};
pub use prefetch::{MOST_AHEAD, Prefetcher};
pub use reference::{Op, Reference};
pub use stack::Stack;
pub use stripped::{NotTold, Stripped};
pub use tlb::{Tlb, TlbDesign};
