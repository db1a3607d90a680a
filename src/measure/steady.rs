//! N against 2N operations of a kernel that goes on where it stopped.

use core::hint::black_box;

use super::collect::{Stretches, collect};
use super::{Buffers, Monitor, Outcome, Plan};
use crate::kernel::Kernel;
use crate::time::{start, stop};

/// The most operations in the shorter stretch; a kernel that does nothing would double forever.
const MOST_OPERATIONS: u64 = 1 << 40;

/// Measures ticks per operation of `kernel` in its steady state.
///
/// Warms up, finds the number of operations N that last [`Plan::sample_ticks`], then samples N
/// and 2N operations until the plan is met. The kernel goes on from sample to sample where it
/// stopped, so that a working set of any size is covered in turn.
///
/// Returns `None` if `buffers` have no room for a sample, or if it was stopped before the first.
pub fn steady(
    kernel: &mut dyn Kernel,
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    in_stretches(
        &mut |operations| timed(kernel, operations),
        plan,
        watch,
        buffers,
    )
}

/// The same for whatever `time` times: it does as many operations as it is told and returns their
/// ticks and a checksum. For kernels that run elsewhere, on several threads at once for one.
pub fn in_stretches(
    time: &mut dyn FnMut(u64) -> (u64, u64),
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    let operations = lasting(time, plan);
    warm_up(time, plan, operations);
    collect(plan, watch, buffers, operations, &mut || {
        pair(time, operations)
    })
}

/// N operations and twice as many.
pub(super) fn pair(time: &mut dyn FnMut(u64) -> (u64, u64), operations: u64) -> Stretches {
    let (short, _) = time(operations);
    let (long, checksum) = time(2 * operations);
    Stretches {
        short,
        long,
        checksum,
    }
}

/// The same from beginning to end, a stretch of N a sample. For kernels on several threads of
/// which one stretch is unlike the next, in step or apart: the difference of two such stretches
/// tells nothing of either. What a stretch begins with counts, so that it must be long.
pub fn in_long_stretches(
    time: &mut dyn FnMut(u64) -> (u64, u64),
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    let operations = lasting(time, plan);
    warm_up(time, plan, operations);
    collect(plan, watch, buffers, operations, &mut || {
        let (long, checksum) = time(operations);
        Stretches {
            short: 0,
            long,
            checksum,
        }
    })
}

/// Runs `operations` and returns their ticks and the kernel's checksum.
#[inline(never)]
pub(super) fn timed(kernel: &mut dyn Kernel, operations: u64) -> (u64, u64) {
    let begin = start();
    let checksum = black_box(kernel.run(black_box(operations)));
    (stop() - begin, checksum)
}

/// Stretches that are all long enough before their number of operations counts as enough: an
/// interruption makes a single operation look long, and where the host of a guest lets one of two
/// CPUs wait, every other stretch is interrupted.
const TRIES: usize = 7;

/// The number of operations that last as long as the plan's sample, by doubling.
pub(super) fn lasting(time: &mut dyn FnMut(u64) -> (u64, u64), plan: &Plan<'_>) -> u64 {
    let mut operations = 1;
    while operations < MOST_OPERATIONS {
        let mut tries = (0..TRIES).map(|_| time(operations).0);
        let Some(ticks) = tries.find(|&ticks| ticks < plan.sample_ticks) else {
            break;
        };
        // Close to the aim, in proportion; far from it, at most eightfold, as the first few
        // operations of a cold kernel say little.
        let factor = plan.sample_ticks / ticks.max(1);
        operations = operations.saturating_mul(factor.clamp(2, 8));
    }
    operations
}

/// By how much two laps differ that agree, as a share.
const AGREE: f64 = 0.03;

/// Runs the plan's warm-up in stretches of `operations`, or if it is to come to rest, in laps without a
/// pause until two agree.
pub(super) fn warm_up(time: &mut dyn FnMut(u64) -> (u64, u64), plan: &Plan<'_>, operations: u64) {
    let began = start();
    if plan.until_steady && plan.warm_up > 0 {
        let mut before = f64::INFINITY;
        while start() - began < plan.warm_up_ticks && !plan.stopped() {
            let lap = time(plan.warm_up).0 as f64;
            if (lap - before).abs() <= AGREE * lap {
                return;
            }
            before = lap;
        }
        return;
    }
    let mut left = plan.warm_up;
    while left > 0 && start() - began < plan.warm_up_ticks && !plan.stopped() {
        let part = left.min(operations);
        time(part);
        left -= part;
    }
}
