//! Stores: past the caches, write policies, flushes, first touch, locks.

pub mod combining;
pub mod evict;
pub mod firsttouch;
pub mod locks;
pub mod policy;
pub mod streaming;
pub mod streamload;

families![locks, streaming, combining, streamload, policy, evict, firsttouch,];
