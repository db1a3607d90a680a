//! Runs that are timed from beginning to end.

use super::collect::{Stretches, collect};
use super::{Buffers, Monitor, Outcome, Plan};

/// Measures ticks per operation of runs of `operations` operations, a run a sample. `time` prepares
/// and does one, and returns what is to be taken off its ticks, its ticks, and a checksum. For runs of
/// milliseconds, of which the cost of the empty stretch is nothing, and which cannot go on where
/// they stopped.
///
/// The first run warms up and is not a sample. [`Plan::warm_up`] and [`Plan::sample_ticks`] do not
/// apply. Returns `None` as [`steady`](super::steady()) does.
pub fn in_whole(
    time: &mut dyn FnMut() -> (u64, u64, u64),
    operations: u64,
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    if !plan.stopped() {
        time();
    }
    collect(plan, watch, buffers, operations.max(1), &mut || {
        let (short, long, checksum) = time();
        Stretches {
            short,
            long,
            checksum,
        }
    })
}
