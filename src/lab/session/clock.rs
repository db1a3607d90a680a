//! The rate of the time-stamp counter, and of the core against it.

use std::time::Duration;

use crate::os::clock::monotonic_raw_ns;
use crate::time::{Rate, RateError, start, yardstick};

/// How long both clocks are compared. Reading them takes below a microsecond, so that the rate is
/// good to a few parts in a million; and a core that was asleep reaches its clock meanwhile.
const STRETCH: Duration = Duration::from_millis(250);

/// Looks at the yardstick, the median of which counts.
const LOOKS: usize = 15;

/// The rate of the counter against the system's raw clock.
pub(super) fn calibrate() -> Result<Rate, RateError> {
    let (began, ticks) = (monotonic_raw_ns(), start());
    // The counter may stand still, and so may the clock: neither decides alone.
    let mut spins = 0_u64;
    let elapsed = loop {
        let elapsed = monotonic_raw_ns().saturating_sub(began);
        spins += 1;
        if elapsed >= STRETCH.as_nanos() as u64 || spins > 1 << 28 {
            break elapsed;
        }
    };
    Rate::between(start().saturating_sub(ticks), elapsed)
}

/// Core cycles per tick now. `None` if the yardstick gave nothing.
pub(super) fn core_per_tick() -> Option<f64> {
    let mut looks = [0; LOOKS];
    looks.fill_with(yardstick::ticks);
    looks.sort_unstable();
    match looks[LOOKS / 2] {
        0 => None,
        ticks => Some(yardstick::CYCLES as f64 / ticks as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calibrations_agree() {
        let (first, second) = (calibrate().unwrap().hz(), calibrate().unwrap().hz());
        assert!((first / second - 1.0).abs() < 1e-3, "{first} {second}");
        assert!(first > 1e8, "{first}");
    }
}
