//! The loop that both protocols share: sample, look, stop.

use super::{Buffers, Ended, Outcome, Plan, Sample, Watch};
use crate::stats::Summary;
use crate::time::{start, yardstick};

/// Samples between two looks at the interval: sorting costs, and disturbs the caches.
const BETWEEN_LOOKS: usize = 5;

/// The two timed stretches of a sample, and the proof of the second.
pub(super) struct Stretches {
    pub short: u64,
    pub long: u64,
    pub proof: u64,
}

/// Takes samples of `operations` operations until the plan is met. `None` if there was not one.
pub(super) fn collect(
    plan: &Plan<'_>,
    watch: &mut dyn Watch,
    mut buffers: Buffers<'_>,
    operations: u64,
    take: &mut dyn FnMut() -> Stretches,
) -> Option<Outcome> {
    let began = start();
    let mut taken = 0;
    let mut proof = 0;
    let ended = loop {
        if taken == buffers.room() {
            break Ended::Full;
        }
        if plan.stopped() {
            break Ended::Stopped;
        }
        let before = watch.state();
        let stretches = take();
        let yardstick = yardstick::ticks();
        buffers.samples[taken] = Sample {
            short: stretches.short,
            long: stretches.long,
            yardstick,
            disturbed: watch.state() != before,
        };
        proof = stretches.proof;
        taken += 1;
        if taken >= plan.least && taken % BETWEEN_LOOKS == 0 {
            let summary = buffers.summary(taken, operations);
            if summary.is_some_and(|summary| precise(&summary, plan.precision)) {
                break Ended::Precise;
            }
        }
        if start() - began > plan.budget_ticks {
            break Ended::Budget;
        }
    };

    let disturbed = buffers.samples[..taken]
        .iter()
        .filter(|sample| sample.disturbed)
        .count();
    Some(Outcome {
        taken,
        operations,
        ticks: buffers.summary(taken, operations)?,
        core_per_tick: buffers.core_per_tick(taken),
        disturbed,
        ended,
        proof,
    })
}

/// Whether `summary` is as exact as asked for: the reach of the interval from the median itself,
/// not from the interval's middle.
fn precise(summary: &Summary, precision: f64) -> bool {
    let reach = (summary.interval.hi - summary.median).max(summary.median - summary.interval.lo);
    summary.median > 0.0 && reach <= precision * summary.median
}
