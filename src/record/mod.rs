//! The format of a record, which the lab and the boot image both write.
//!
//! With feature `record`, this module has the types of the lines. They are generic over how texts and
//! lists are stored: the lab owns them; the boot image, which has no allocator, borrows them or computes
//! them while it writes.

#[cfg(feature = "record")]
mod lines;

#[cfg(feature = "record")]
pub use lines::{
    CacheLine, CountLine, CountingLine, CpuLine, EndLine, Header, Line, PrefetchersLine, RawPoint,
    RawTimed, TlbLine,
};
#[cfg(all(feature = "record", any(feature = "std", feature = "experiments")))]
pub use lines::{IsolationLine, SettingLine};

pub use crate::LADDER;
use crate::measure::{Ended, Sample};

/// The version of the format; readers reject other versions.
pub const FORMAT: u32 = 1;

/// The experiment id under which the points of the ladder are recorded.
pub const MACHINE: &str = "machine";

/// The host in a record of the boot image; also its profile if it ran no experiments.
pub const BARE: &str = "bare";

/// The flag of a point that is [noisy](crate::stats::Interval::is_noisy).
pub const NOISY: &str = "noisy";

/// Returns the flag for how sampling ended; `None` if the interval became narrow enough.
pub const fn ended_flag(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Precise => None,
        Ended::Budget => Some("budget"),
        Ended::Full => Some("full"),
        Ended::Stopped => Some("stopped"),
    }
}

/// Returns a sample as a record stores it: ticks of the shorter stretch, of the longer stretch and of
/// the yardstick, and 1 if the sample was disturbed.
pub fn sample_row(sample: &Sample) -> [u64; 4] {
    let disturbed = sample.disturbed.into();
    [sample.short, sample.long, sample.yardstick, disturbed]
}
