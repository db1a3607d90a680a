//! Two kernels in turn, and the ratio of what they take.

use super::collect::{BETWEEN_LOOKS, enough, precise, sample, spent};
use super::sample::{hardly_any, summary_of};
use super::steady::{lasting, pair, timed, warm_up};
use super::{Buffers, Ended, Monitor, Outcome, Plan};
use crate::kernel::Kernel;
use crate::stats::Summary;
use crate::time::start;

/// What two kernels took that were measured in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Paired {
    /// The first and the second.
    pub outcomes: [Outcome; 2],
    /// How many times as long an operation of the first takes as one of the second: over the pairs of
    /// samples of which neither was disturbed (over all, if too few were undisturbed). `None` if in no
    /// pair both took more time for more operations: one of them does nothing.
    pub ratio: Option<Summary>,
}

/// Measures two kernels in turn, each as [`steady`](super::steady()) does, a sample of one beside a
/// sample of the other, until the ratio is as precise as `plan` asks.
///
/// What slows both down for a while (the core's clock, a neighbour) leaves the ratio. Which of the two
/// goes first changes from pair to pair. Both find the caches as the other left them.
///
/// Returns `None` if `buffers` have no room for a sample, or if it was stopped before the first.
pub fn in_turn(
    kernels: [&mut dyn Kernel; 2],
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    mut buffers: [Buffers<'_>; 2],
) -> Option<Paired> {
    let mut sides = kernels.map(|kernel| {
        let mut time = |operations| timed(kernel, operations);
        let operations = lasting(&mut time, plan);
        warm_up(&mut time, plan, operations);
        (kernel, operations, 0)
    });
    let began = start();
    let room = buffers[0].room().min(buffers[1].room());
    let operations = [sides[0].1, sides[1].1];
    let mut taken = 0;
    let ended = loop {
        if taken == room {
            break Ended::Full;
        }
        if plan.stopped() {
            break Ended::Stopped;
        }
        for turn in 0..2 {
            let side = (taken + turn) % 2;
            let (kernel, operations, checksum) = &mut sides[side];
            let mut take = || pair(&mut |operations| timed(*kernel, operations), *operations);
            (buffers[side].samples[taken], *checksum) = sample(watch, &mut take);
        }
        taken += 1;
        if enough(quiet(&buffers, taken), taken, plan.least) && taken % BETWEEN_LOOKS == 0 {
            let ratio = ratio(&mut buffers, taken, operations);
            if ratio.is_some_and(|ratio| precise(&ratio, plan.precision)) {
                break Ended::Precise;
            }
        }
        if spent(start() - began, taken, plan) {
            break Ended::Budget;
        }
    };
    let ratio = ratio(&mut buffers, taken, operations);
    let [first, second] = &mut buffers;
    let outcome = |buffers: &mut Buffers<'_>, side: usize| {
        let (_, operations, checksum) = sides[side];
        Outcome::of(buffers, taken, operations, &*watch, ended, checksum)
    };
    Some(Paired {
        outcomes: [outcome(first, 0)?, outcome(second, 1)?],
        ratio,
    })
}

/// How many of the first `taken` pairs were disturbed in neither half.
fn quiet(buffers: &[Buffers<'_>; 2], taken: usize) -> usize {
    let [first, second] = buffers.each_ref().map(|one| &one.samples[..taken]);
    let pairs = first.iter().zip(second);
    pairs.filter(|(a, b)| !a.disturbed && !b.disturbed).count()
}

/// The ratio over the first `taken` pairs.
fn ratio(buffers: &mut [Buffers<'_>; 2], taken: usize, operations: [u64; 2]) -> Option<Summary> {
    let all = hardly_any(quiet(buffers, taken), taken);
    let [first, second] = buffers;
    let pairs = first.samples[..taken].iter().zip(&second.samples[..taken]);
    let kept = pairs.filter(|(a, b)| all || !a.disturbed && !b.disturbed);
    let values = kept.map(|(a, b)| (a.value(operations[0]), b.value(operations[1])));
    let ratios = values
        .filter(|&(a, b)| a > 0.0 && b > 0.0)
        .map(|(a, b)| a / b);
    summary_of(ratios, first.scratch)
}
