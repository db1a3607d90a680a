//! Robust statistics over samples: medians and their intervals, never means.

#[cfg(any(feature = "std", feature = "experiments"))]
mod between;
mod histogram;
mod interval;
mod knee;
#[cfg(any(feature = "std", feature = "experiments"))]
mod student;
mod summary;

#[cfg(any(feature = "std", feature = "experiments"))]
pub use between::{Estimate, Prior};
pub use histogram::Histogram;
pub use interval::{Interval, NOISY, Side};
#[doc(hidden)]
pub use knee::{Knee, crossing, knees};
#[cfg(feature = "alloc")]
pub(crate) use summary::median_of;
pub use summary::{Summary, mad, median, quantile};
