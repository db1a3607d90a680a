//! Kernels that move memory in order, or load without dependences.

pub(super) mod bandwidth;
pub(super) mod blocked;
pub(super) mod blocks;
pub(super) mod burst;
pub(super) mod load;

#[doc(hidden)]
pub use bandwidth::BLOCK;
pub use bandwidth::{Bandwidth, BandwidthError, Motion, SharedBandwidth};
pub use blocked::{Blocked, BlockedError};
#[doc(hidden)]
pub use burst::BURST;
pub use burst::{Burst, BurstError, Places, Transfer};
pub use load::{LoadLines, LoadWay};
