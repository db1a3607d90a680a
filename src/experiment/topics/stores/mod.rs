//! Stores: past the caches, write policies, flushes, first touch, locks.

use crate::experiment::prelude::*;
use crate::experiment::shared::pollution::{Passage, PollutionSetup};

pub mod combining;
pub mod evict;
pub mod firsttouch;
pub mod locks;
pub mod policy;
pub mod streaming;
pub mod streamload;

families![locks, streaming, combining, streamload, policy, evict, firsttouch,];

/// Laps over a hot set in L2: their series, and what passes between two of them. The first are undisturbed.
type Laps = [(&'static str, Passage); 3];

fn lap_cases(machine: &Machine, laps: Laps) -> [Case; 3] {
    laps.map(|(series, passage)| {
        let setup = PollutionSetup::in_l2(machine, passage);
        Case::new(series, setup.hot as f64, setup).in_large_pages()
    })
}

/// Returns the time of the laps `index` divided by that of the undisturbed ones. Evidence is in bandwidths here,
/// so the quotient is inverted.
fn slower_lap(e: &Evidence<'_>, laps: Laps, index: usize) -> Testable<Interval> {
    let period = |index: usize| e.last(laps[index].0).map(|(_, period)| period);
    ratio(period(0), period(index))
}
