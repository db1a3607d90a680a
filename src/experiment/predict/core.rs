//! What is published of cores, by their names.

use super::Parameters;
use crate::cpu::Core;

/// Names of cores, and the latency of an addition of two `f64` in core cycles.
///
/// AMD: Software Optimization Guides of families 17h and 19h, section "Floating-Point Unit". Intel:
/// Optimization Reference Manual, latencies of ADDSD in the chapters on each core.
const ADDITIONS: [(&[&str], u32); 3] = [
    (&["Zen", "Zen 2", "Zen 3", "Zen 4"], 3),
    (&["Nehalem", "Sandy Bridge", "Haswell"], 3),
    (&["Skylake", "Sunny Cove", "Willow Cove", "Cypress Cove"], 4),
];

/// Core cycles of a floating-point addition that the next one waits for, if published.
pub(in crate::experiment) fn add_latency(parameters: &Parameters<'_>) -> Option<f64> {
    let core = parameters.calibration().core()?;
    let row = ADDITIONS.iter().find(|(names, _)| names.contains(&core))?;
    Some(row.1.into())
}

/// Operations that the core has under way at most, if published.
pub(in crate::experiment) fn window(parameters: &Parameters<'_>) -> Option<f64> {
    let core = parameters.calibration().core()?;
    Core::window_of(core).map(f64::from)
}

/// How many of `wanted` misses are under way at once. `None` if that depends on a number that is
/// not published.
pub(in crate::experiment) fn in_flight(parameters: &Parameters<'_>, wanted: usize) -> Option<f64> {
    /// Every core since Core 2 keeps as many.
    const ANY: usize = 8;
    let core = parameters.calibration().core();
    match core.and_then(Core::outstanding_misses_of) {
        Some(most) => Some(wanted.min(most as usize) as f64),
        None => (wanted <= ANY).then_some(wanted as f64),
    }
}
