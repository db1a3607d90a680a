//! Borrowed, aligned bytes: what every pattern is laid out in.
//!
//! Nothing here allocates. A [`Region`] borrows memory that somebody else owns (a mapping of
//! `os`, a static arena of a boot image), so that patterns and kernels work the
//! same everywhere.

mod padded;
mod region;
mod span;

pub use padded::Padded;
pub use region::{Region, RegionError};
pub(crate) use span::Span;

/// Bytes in a cache line of every x86-64 CPU to date (CPUID leaf 1, EBX bits 15..8, times 8).
pub const LINE: usize = 64;

/// Bytes in a base page (Intel SDM volume 3A, table 4-14).
pub const PAGE: usize = 4096;
