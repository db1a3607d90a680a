//! The line from loads at growing offsets.

use super::found::{Curve, Found, decide};

/// What a load that crosses into the next line costs more, at least: all that is known take a core
/// cycle more or several.
const CROSSING: f64 = 1.1;

/// Bytes of a line, from the times of loads of `bytes` at offsets from the start of one: the power
/// of two into which the last load fits that costs nothing, and out of which the first leads that
/// does. `None` if no load costs more, or no power of two fits.
pub fn line(times: &Curve, bytes: f64) -> Option<Found<u32>> {
    decide(times, |points| {
        let first = points.first()?.1;
        let dearer = points
            .iter()
            .position(|(_, time)| *time > first * CROSSING)?;
        let inside = points.get(dearer.checked_sub(1)?)?.0 + bytes;
        let outside = points[dearer].0 + bytes;
        let fits = |line: &u32| inside <= f64::from(*line) && f64::from(*line) < outside;
        (3..=12).map(|bits| 1 << bits).find(fits)
    })
}
