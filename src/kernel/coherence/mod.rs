//! Kernels on lines that several cores access.

pub(super) mod increment;
pub(super) mod roundtrip;
pub(super) mod take;

pub use increment::{Increment, QueueLock, QueueWay, Way as IncrementWay};
pub use roundtrip::{RoundTrip, Way as RoundTripWay};
#[doc(hidden)]
pub use take::APART;
pub use take::{AcquireLines, AcquireWay, Fetched};
