//! What is published of the core.

use crate::cpu::{Core, Fact};
use crate::experiment::machine::predict::Parameters;

/// A published number of the machine's core.
fn published(parameters: &Parameters<'_>, fact: impl Fn(&Core) -> Fact<u32>) -> Option<u32> {
    fact(parameters.calibration().core()?).value()
}

/// Operations that the core has under way at most, if published.
pub(in crate::experiment) fn window(parameters: &Parameters<'_>) -> Option<f64> {
    published(parameters, |core| core.reorder_buffer).map(f64::from)
}

/// How many of `wanted` misses are under way at once. `None` if that depends on a number that is
/// not published.
pub(in crate::experiment) fn in_flight(parameters: &Parameters<'_>, wanted: usize) -> Option<f64> {
    /// Every core since Core 2 keeps as many.
    const ANY: usize = 8;
    match published(parameters, |core| core.outstanding_misses) {
        Some(most) => Some(wanted.min(most as usize) as f64),
        None => (wanted <= ANY).then_some(wanted as f64),
    }
}
