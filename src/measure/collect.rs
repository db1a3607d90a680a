//! The loop that both protocols share: sample, check, stop.

use super::sample::{hardly_any, seldom};
use super::{Buffers, Ended, Monitor, Outcome, Plan, Sample};
use crate::stats::Summary;
use crate::time::{start, yardstick};

/// Samples between two checks of the interval: sorting takes time, and disturbs the caches.
pub(super) const BETWEEN_LOOKS: usize = 5;

/// The factor on the least number of samples where hardly any sample is undisturbed.
const RESTLESS: usize = 6;

/// The number of budgets that may be spent to reach the least number of samples, where samples are long.
const PATIENCE: u64 = 2;

/// The two timed stretches of a sample, and the checksum of the second stretch.
pub(super) struct Stretches {
    pub short: u64,
    pub long: u64,
    pub checksum: u64,
}

/// Takes samples of `operations` operations until the plan is met. Returns `None` without any sample.
pub(super) fn collect(
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    mut buffers: Buffers<'_>,
    operations: u64,
    take: &mut dyn FnMut() -> Stretches,
) -> Option<Outcome> {
    let began = start();
    let mut taken = 0;
    let mut checksum = 0;
    let ended = loop {
        if taken == buffers.room() {
            break Ended::Full;
        }
        if plan.stopped() {
            break Ended::Stopped;
        }
        (buffers.samples[taken], checksum) = sample(watch, take);
        taken += 1;
        if enough(buffers.quiet(taken), taken, plan.least) && taken % BETWEEN_LOOKS == 0 {
            let summary = buffers.summary(taken, operations);
            if summary.is_some_and(|summary| precise(&summary, plan.precision)) {
                break Ended::Precise;
            }
        }
        if spent(start() - began, taken, plan) {
            break Ended::Budget;
        }
    };
    Outcome::of(&mut buffers, taken, operations, watch, ended, checksum)
}

/// Takes a sample, times the yardstick after it, and returns the sample and its checksum.
pub(super) fn sample(
    watch: &mut dyn Monitor,
    take: &mut dyn FnMut() -> Stretches,
) -> (Sample, u64) {
    let before = watch.state();
    let stretches = take();
    let yardstick = yardstick::ticks();
    let sample = Sample {
        short: stretches.short,
        long: stretches.long,
        yardstick,
        disturbed: watch.state() != before,
    };
    (sample, stretches.checksum)
}

/// Whether there are enough samples, of which `quiet` were undisturbed: at least `least` undisturbed
/// samples or, on a core that is nearly always shared, several times as many samples of any kind.
pub(super) fn enough(quiet: usize, taken: usize, least: usize) -> bool {
    let of_those = quiet >= least && !seldom(quiet, taken);
    of_those || hardly_any(quiet, taken) && taken >= RESTLESS * least
}

/// Whether the budget is spent after `ticks` ticks.
pub(super) fn spent(ticks: u64, taken: usize, plan: &Plan<'_>) -> bool {
    let lacking = taken < plan.least && ticks / PATIENCE <= plan.budget_ticks;
    ticks > plan.budget_ticks && !lacking
}

/// Whether `summary` is as precise as asked for. The reach of the interval counts from the median, not
/// from the interval's middle.
pub(super) fn precise(summary: &Summary, precision: f64) -> bool {
    let reach = (summary.interval.hi - summary.median).max(summary.median - summary.interval.lo);
    summary.median > 0.0 && reach <= precision * summary.median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_samples_get_twice_the_time() {
        let plan = Plan { least: 10, budget_ticks: 100, ..Plan::of_seconds(1.0, 1.0) };
        assert!(!spent(100, 10, &plan));
        assert!(spent(101, 10, &plan));
        assert!(!spent(101, 9, &plan));
        assert!(!spent(201, 9, &plan));
        assert!(spent(202, 9, &plan));
    }
}
