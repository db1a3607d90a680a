//! Robust statistics over samples: medians and their intervals, never means.

#[cfg(feature = "std")]
mod between;
mod histogram;
mod interval;
mod knee;
mod order;
#[cfg(feature = "std")]
mod student;
mod summary;

#[cfg(feature = "std")]
pub use between::{Estimate, Prior};
pub use histogram::Histogram;
pub use interval::{Interval, NOISY, Side};
#[doc(hidden)]
pub use knee::{Knee, crossing, knees};
pub use order::{mad, median, quantile};
pub use summary::Summary;
