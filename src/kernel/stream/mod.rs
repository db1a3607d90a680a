//! Kernels that move memory in order, or load without dependences.

pub(super) mod bandwidth;
pub(super) mod blocked;
pub(super) mod blocks;
pub(super) mod burst;
pub(super) mod load;

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
#[doc(hidden)]
pub use bandwidth::{BLOCK, SharedBandwidth};
pub use bandwidth::{Bandwidth, BandwidthError, Motion};
pub use blocked::{Blocked, BlockedError};
#[doc(hidden)]
pub use burst::BURST;
pub use burst::{Burst, BurstError, Places, Transfer};
pub use load::{LoadLines, LoadWay};

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>, features: Features) {
    oracle.bandwidths(features);
    oracle.bursts(features);
    oracle.loads(features);
}
