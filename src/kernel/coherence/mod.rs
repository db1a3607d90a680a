//! Kernels on lines that several cores access.

pub(super) mod increment;
pub(super) mod roundtrip;
pub(super) mod take;

use crate::kernel::verify::Oracle;
pub use increment::{Increment, Way as IncrementWay};
#[doc(hidden)]
pub use increment::{QueueLock, QueueWay};
pub use roundtrip::{RoundTrip, Way as RoundTripWay};
#[doc(hidden)]
pub use take::APART;
pub use take::{AcquireLines, AcquireWay, Fetched};

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>) {
    oracle.increments();
    oracle.queues();
    oracle.roundtrips();
    oracle.takes();
}
