//! Robust statistics over samples: medians and their intervals, never means.

mod interval;
mod knee;
mod order;
mod summary;

pub use interval::{Interval, NOISY, Side};
#[doc(hidden)]
pub use knee::{Knee, crossing, knees};
pub use order::{mad, median, quantile};
pub use summary::Summary;
