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
use crate::stats::Interval;

/// The version of the format; readers reject other versions.
pub const FORMAT: u32 = 1;

/// The experiment id under which the points of the ladder are recorded.
pub const MACHINE: &str = "machine";

/// The host in a record of the boot image; also its profile if it ran no experiments.
pub const BARE: &str = "bare";

/// The flag of a point that is [noisy](Interval::is_noisy).
pub const NOISY: &str = "noisy";

/// Returns the flag [`NOISY`] if the interval of a point is noisy.
pub fn noisy_flag(interval: Interval) -> Option<&'static str> {
    interval.is_noisy().then_some(NOISY)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The lab and the boot image both write this flag.
    #[test]
    fn a_point_is_noisy_beyond_one_and_a_half_percent_to_a_side() {
        let around = |share: f64| {
            let [lo, hi] = [1.0 - share, 1.0 + share].map(|times| 80.0 * times);
            noisy_flag(Interval { lo, hi })
        };
        assert_eq!(around(0.0149), None);
        assert_eq!(around(0.0151), Some("noisy"));
    }
}
