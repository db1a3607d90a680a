//! Kernels on lines that several cores access.

pub(super) mod increment;
pub(super) mod roundtrip;
pub(super) mod take;

pub use increment::{Increment, QueueLock, QueueWay, Way as IncrementWay};
pub use roundtrip::{RoundTrip, Way as RoundTripWay};
#[doc(hidden)]
pub use take::APART;
pub use take::{AcquireLines, AcquireWay, Fetched};

use crate::cpu::Features;
use crate::kernel::verify::Oracle;

/// Checks every kernel of this subject against its model.
pub(super) fn verify(oracle: &mut Oracle<'_, '_>, _: Features) {
    oracle.increments();
    oracle.queues();
    oracle.roundtrips();
    oracle.takes();
}
