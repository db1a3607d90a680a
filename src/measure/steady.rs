//! N against 2N operations of a kernel that continues where it stopped; two such kernels interleaved,
//! and the ratio of their times; and runs timed from beginning to end.

use core::hint::black_box;

use super::collect::{Stretches, collect, met, sample, until_met};
use super::sample::{hardly_any, summary_of};
use super::{Buffers, Monitor, Outcome, Plan};
use crate::kernel::Kernel;
use crate::stats::Summary;
use crate::time::{start, stop};

/// The largest number of operations in the shorter stretch: a kernel that does nothing would double
/// forever.
const MOST_OPERATIONS: u64 = 1 << 40;

/// Measures ticks per operation of `kernel` in its steady state.
///
/// Warms up, finds the number of operations N that lasts [`Plan::sample_ticks`], then samples N and 2N
/// operations until the plan is met. The kernel continues from sample to sample where it stopped, so
/// that the samples together cover a working set of any size.
///
/// Returns `None` if `buffers` have no room for a sample, or if the measurement was stopped before the
/// first sample.
pub fn steady(
    kernel: &mut dyn Kernel,
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    in_stretches(&mut |operations| timed(kernel, operations), plan, watch, buffers)
}

/// Like [`steady()`], for a closure `time` that does the given number of operations and returns their
/// ticks and a checksum. For kernels that run elsewhere, for example on several threads at once.
pub fn in_stretches(
    time: &mut dyn FnMut(u64) -> (u64, u64),
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    let operations = warm_up(time, plan);
    collect(plan, watch, buffers, operations, &mut || pair(time, operations))
}

/// Times N operations, and then twice as many.
fn pair(time: &mut dyn FnMut(u64) -> (u64, u64), operations: u64) -> Stretches {
    let (short, _) = time(operations);
    let (long, checksum) = time(2 * operations);
    Stretches { short, long, checksum }
}

/// Like [`in_stretches`], with samples of one stretch of N operations, timed from beginning to end. For
/// kernels on several threads whose stretches differ, in step or apart: the difference of two such
/// stretches says nothing about either. The start of a stretch counts, so the stretch must be long.
pub fn in_long_stretches(
    time: &mut dyn FnMut(u64) -> (u64, u64),
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    let operations = warm_up(time, plan);
    collect(plan, watch, buffers, operations, &mut || {
        let (long, checksum) = time(operations);
        Stretches { short: 0, long, checksum }
    })
}

/// Runs `operations` operations, and returns their ticks and the kernel's checksum.
#[inline(never)]
fn timed(kernel: &mut dyn Kernel, operations: u64) -> (u64, u64) {
    let begin = start();
    let checksum = black_box(kernel.run(black_box(operations)));
    (stop() - begin, checksum)
}

/// The number of stretches that must all be long enough before their number of operations counts as
/// enough. An interruption makes a single operation look long, and where the host of a guest makes one
/// of two CPUs wait, every other stretch is interrupted.
const TRIES: usize = 7;

/// Returns the number of operations that lasts as long as the plan's sample.
fn lasting(time: &mut dyn FnMut(u64) -> (u64, u64), plan: &Plan<'_>) -> u64 {
    let mut operations = 1;
    while operations < MOST_OPERATIONS {
        let mut tries = (0..TRIES).map(|_| time(operations).0);
        let Some(ticks) = tries.find(|&ticks| ticks < plan.sample_ticks) else { break };
        // Near the target, grow in proportion. Far from it, grow at most eightfold, because the first
        // few operations of a cold kernel say little.
        let factor = plan.sample_ticks / ticks.max(1);
        operations = operations.saturating_mul(factor.clamp(2, 8));
    }
    operations
}

/// The relative difference up to which two laps agree.
const AGREE: f64 = 0.03;

/// Runs the plan's warm-up in stretches that last as long as its sample or, with [`Plan::until_steady`], in
/// whole laps until two agree. Returns the operations of such a stretch.
fn warm_up(time: &mut dyn FnMut(u64) -> (u64, u64), plan: &Plan<'_>) -> u64 {
    let operations = lasting(time, plan);
    let began = start();
    if plan.until_steady && plan.warm_up > 0 {
        let mut before = f64::INFINITY;
        while start() - began < plan.warm_up_ticks && !plan.stopped() {
            let lap = time(plan.warm_up).0 as f64;
            if (lap - before).abs() <= AGREE * lap {
                break;
            }
            before = lap;
        }
        return operations;
    }
    let mut left = plan.warm_up;
    while left > 0 && start() - began < plan.warm_up_ticks && !plan.stopped() {
        let part = left.min(operations);
        time(part);
        left -= part;
    }
    operations
}

/// Measures ticks per operation of runs of `operations` operations, one run per sample. `time` prepares
/// and does a run, and returns the ticks to subtract, the ticks of the run, and a checksum. For runs of
/// milliseconds, where the cost of an empty stretch is negligible, and which cannot continue where they
/// stopped.
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
        Stretches { short, long, checksum }
    })
}

/// The result of two kernels measured interleaved.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Paired {
    /// The outcomes of the first and the second kernel.
    pub outcomes: [Outcome; 2],
    /// Time per operation of the first kernel over that of the second: over the pairs of samples of
    /// which neither was disturbed, or over all pairs if too few were undisturbed. `None` if there is no
    /// pair in which both took more time for more operations, because one kernel does nothing.
    pub ratio: Option<Summary>,
}

/// Measures two kernels interleaved, each as [`steady`](super::steady()) does, a sample of one next to a
/// sample of the other, until the ratio is as precise as `plan` asks.
///
/// Effects that slow both down for a while (the core's clock, a neighbour) cancel in the ratio. The
/// kernel that goes first alternates from pair to pair. Each finds the caches as the other left them.
///
/// Returns `None` if `buffers` have no room for a sample, or if the measurement was stopped before the
/// first sample.
pub fn in_turn(
    kernels: [&mut dyn Kernel; 2],
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    mut buffers: [Buffers<'_>; 2],
) -> Option<Paired> {
    let mut sides = kernels.map(|kernel| {
        let operations = warm_up(&mut |operations| timed(kernel, operations), plan);
        (kernel, operations, 0)
    });
    let room = buffers[0].room().min(buffers[1].room());
    let operations = [sides[0].1, sides[1].1];
    let (taken, ended) = until_met(plan, room, |before| {
        for turn in 0..2 {
            let side = (before + turn) % 2;
            let (kernel, operations, checksum) = &mut sides[side];
            let mut take = || pair(&mut |operations| timed(*kernel, operations), *operations);
            (buffers[side].samples[before], *checksum) = sample(watch, &mut take);
        }
        let taken = before + 1;
        met(plan, quiet(&buffers, taken), taken, || ratio(&mut buffers, taken, operations))
    });
    let ratio = ratio(&mut buffers, taken, operations);
    let [first, second] = &mut buffers;
    let outcome = |buffers: &mut Buffers<'_>, side: usize| {
        let (_, operations, checksum) = sides[side];
        Outcome::of(buffers, taken, operations, &*watch, ended, checksum)
    };
    Some(Paired { outcomes: [outcome(first, 0)?, outcome(second, 1)?], ratio })
}

/// Returns how many of the first `taken` pairs were undisturbed in both halves.
fn quiet(buffers: &[Buffers<'_>; 2], taken: usize) -> usize {
    let [first, second] = buffers.each_ref().map(|one| &one.samples[..taken]);
    let pairs = first.iter().zip(second);
    pairs.filter(|(a, b)| !a.disturbed && !b.disturbed).count()
}

/// Returns the summary of the ratio over the first `taken` pairs.
fn ratio(buffers: &mut [Buffers<'_>; 2], taken: usize, operations: [u64; 2]) -> Option<Summary> {
    let all = hardly_any(quiet(buffers, taken), taken);
    let [first, second] = buffers;
    let pairs = first.samples[..taken].iter().zip(&second.samples[..taken]);
    let kept = pairs.filter(|(a, b)| all || !a.disturbed && !b.disturbed);
    let values = kept.map(|(a, b)| (a.value(operations[0]), b.value(operations[1])));
    let ratios = values.filter(|&(a, b)| a > 0.0 && b > 0.0).map(|(a, b)| a / b);
    summary_of(ratios, first.scratch)
}
