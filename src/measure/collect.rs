//! The loop that both protocols share: sample, check, stop.

use super::sample::{hardly_any, seldom};
use super::{Buffers, Ended, Monitor, Outcome, Plan, Sample};
use crate::stats::Summary;
use crate::time::{start, yardstick};

/// Samples between two checks of the interval: sorting takes time, and disturbs the caches.
const BETWEEN_LOOKS: usize = 5;

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
    let mut checksum = 0;
    let (taken, ended) = until_met(plan, buffers.room(), |before| {
        (buffers.samples[before], checksum) = sample(watch, take);
        let taken = before + 1;
        met(plan, buffers.quiet(taken), taken, || buffers.summary(taken, operations))
    });
    Outcome::of(&mut buffers, taken, operations, watch, ended, checksum)
}

/// Takes at most `room` samples until the plan is met, and returns their number and why sampling ended.
/// `take` gets the number of samples before, takes another, and returns whether they are [`met`] then.
pub(super) fn until_met(
    plan: &Plan<'_>,
    room: usize,
    mut take: impl FnMut(usize) -> bool,
) -> (usize, Ended) {
    let began = start();
    let mut taken = 0;
    loop {
        if taken == room {
            return (taken, Ended::Full);
        }
        if plan.stopped() {
            return (taken, Ended::Stopped);
        }
        let precise = take(taken);
        taken += 1;
        if precise {
            return (taken, Ended::Precise);
        }
        if spent(start() - began, taken, plan) {
            return (taken, Ended::Budget);
        }
    }
}

/// Whether samples, of which `quiet` were undisturbed, are enough, and their summary is as precise as the plan
/// asks. The reach of the interval counts from the median, not from the interval's middle.
pub(super) fn met(
    plan: &Plan<'_>,
    quiet: usize,
    taken: usize,
    summary: impl FnOnce() -> Option<Summary>,
) -> bool {
    let look = enough(quiet, taken, plan.least) && taken.is_multiple_of(BETWEEN_LOOKS);
    look && summary().is_some_and(|Summary { median, interval, .. }| {
        let reach = (interval.hi - median).max(median - interval.lo);
        median > 0.0 && reach <= plan.precision * median
    })
}

/// Takes a sample, times the yardstick after it, and returns the sample and its checksum.
pub(super) fn sample(
    watch: &mut dyn Monitor,
    take: &mut dyn FnMut() -> Stretches,
) -> (Sample, u64) {
    let before = watch.state();
    let Stretches { short, long, checksum } = take();
    let yardstick = yardstick::ticks();
    (Sample { short, long, yardstick, disturbed: watch.state() != before }, checksum)
}

/// Whether there are enough samples, of which `quiet` were undisturbed: at least `least` undisturbed
/// samples or, on a core that is nearly always shared, several times as many samples of any kind.
fn enough(quiet: usize, taken: usize, least: usize) -> bool {
    let of_those = quiet >= least && !seldom(quiet, taken);
    of_those || hardly_any(quiet, taken) && taken >= RESTLESS * least
}

/// Whether the budget is spent after `ticks` ticks.
fn spent(ticks: u64, taken: usize, plan: &Plan<'_>) -> bool {
    let lacking = taken < plan.least && ticks / PATIENCE <= plan.budget_ticks;
    ticks > plan.budget_ticks && !lacking
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
