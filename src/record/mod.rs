//! The format of a record, which the lab and the boot image write alike.
//!
//! With feature `record`, the types of its lines. They leave open how texts and lists are kept: the lab
//! owns them; the boot image, which has no allocator, borrows them or computes them while it writes.

#[cfg(feature = "record")]
mod lines;

#[cfg(feature = "record")]
pub use lines::{
    CacheLine, CountLine, CountingLine, CpuLine, EndLine, Header, Line, PrefetchersLine, RawPoint,
    RawTimed, TlbLine,
};
#[cfg(all(feature = "record", any(feature = "std", feature = "experiments")))]
pub use lines::{IsolationLine, SettingLine};

use crate::measure::{Ended, Sample};

/// The version of the format; readers refuse others.
pub const FORMAT: u32 = 1;

/// The experiment under which the rungs of the ladder are recorded.
pub const MACHINE: &str = "machine";

/// The series of the ladder.
pub const LADDER: &str = "random walk, one line an element";

/// The host of a record of the boot image, and its profile where it has run no experiments.
pub const BARE: &str = "bare";

/// The flag of a point that is [noisy](crate::stats::Interval::is_noisy).
pub const NOISY: &str = "noisy";

/// The flag that says how sampling ended, if the interval did not become narrow enough.
pub const fn ended_flag(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Precise => None,
        Ended::Budget => Some("budget"),
        Ended::Full => Some("full"),
        Ended::Stopped => Some("stopped"),
    }
}

/// A sample as a point keeps it: ticks of the shorter stretch, of the longer, of the yardstick, and 1
/// if the sample was disturbed.
pub fn sample_row(sample: &Sample) -> [u64; 4] {
    let disturbed = sample.disturbed.into();
    [sample.short, sample.long, sample.yardstick, disturbed]
}
