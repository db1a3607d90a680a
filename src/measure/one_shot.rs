//! Single operations, each after a preparation of its own.

use core::hint::black_box;

use super::collect::{Stretches, collect};
use super::{Buffers, Monitor, Outcome, Plan};
use crate::stats::Histogram;
use crate::time::{start, stop};

/// An operation that can be timed only once per preparation, such as the first load of a line
/// after a flush.
///
/// ```
/// use linefill::measure::{Shot, distribution};
/// use linefill::stats::Histogram;
///
/// /// Sorting, for which the numbers have to be out of order again.
/// struct Sort<'a>([u32; 64], &'a [u32; 64]);
///
/// impl Shot for Sort<'_> {
///     fn prepare(&mut self) {
///         self.0 = *self.1;
///     }
///
///     fn shoot(&mut self) -> u64 {
///         self.0.sort_unstable();
///         u64::from(self.0[0])
///     }
/// }
/// let unsorted = core::array::from_fn(|i| (i as u32 * 37) % 64);
/// let mut ticks = Histogram::new();
/// distribution(&mut Sort([0; 64], &unsorted), 1000, &mut ticks, &mut || false);
/// println!("{ticks} ticks");
/// ```
pub trait Shot {
    /// Brings the memory into the state in which the operation is to find it. Not timed.
    fn prepare(&mut self);

    /// Does the operation and returns a value that proves it.
    fn shoot(&mut self) -> u64;

    /// How many operations one shot is: the lines of a run that is flushed at once, the pages of a
    /// mapping. A sample is ticks per operation. The same for every shot.
    fn operations(&self) -> u64 {
        1
    }
}

/// Shots whose mean makes one sample, at the most. The time-stamp counter of some CPUs advances in
/// steps of tens of ticks; a mean over shots that begin at random phases of the step resolves less.
const SHOTS: u64 = 16;

/// Measures ticks of an operation of a [`Shot`], the cost of the empty stretch taken off.
///
/// [`Plan::warm_up`] and [`Plan::sample_ticks`] do not apply. Returns `None` as
/// [`steady`](super::steady()) does.
pub fn one_shot(
    shot: &mut dyn Shot,
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    buffers: Buffers<'_>,
) -> Option<Outcome> {
    let shots = shots_a_sample(shot, plan);
    let operations = shots * shot.operations().max(1);
    collect(plan, watch, buffers, operations, &mut || {
        let mut sum = Stretches {
            short: 0,
            long: 0,
            checksum: 0,
        };
        for _ in 0..shots {
            shot.prepare();
            let (ticks, checksum) = timed(shot);
            sum.long += ticks;
            sum.short += empty();
            sum.checksum = checksum;
        }
        sum
    })
}

/// Times `shots` shots one by one, each after its preparation, and records the ticks of each in
/// `histogram`, the cost of the empty stretch taken off. Nothing is averaged and nothing left out:
/// interruptions are part of a distribution.
///
/// Fifteen shots that are not recorded come first: the empty stretch behind each finds memory as cold as
/// it is for the shot. The time-stamp counter of some CPUs advances in steps of tens of ticks, and values
/// lie that far apart then. Ends early where `stop` answers true.
pub fn distribution(
    shot: &mut dyn Shot,
    shots: u64,
    histogram: &mut Histogram,
    stop: &mut dyn FnMut() -> bool,
) {
    each_shot(shot, shots, &mut |ticks| histogram.record(ticks), stop);
}

/// The same, where `record` gets the ticks of each shot.
pub(crate) fn each_shot(
    shot: &mut dyn Shot,
    shots: u64,
    record: &mut dyn FnMut(u64),
    stop: &mut dyn FnMut() -> bool,
) {
    let mut overhead = [(); 15].map(|()| {
        shot.prepare();
        timed(shot);
        empty()
    });
    overhead.sort_unstable();
    let overhead = overhead[overhead.len() / 2];
    for _ in 0..shots {
        if stop() {
            return;
        }
        shot.prepare();
        let (ticks, _) = timed(shot);
        record(ticks.saturating_sub(overhead));
    }
}

/// Fewer than [`SHOTS`] where these leave no time for as many samples as are wanted at least: one
/// sample tells nothing of how far the next would be from it. Found by a shot that is no sample.
fn shots_a_sample(shot: &mut dyn Shot, plan: &Plan<'_>) -> u64 {
    if plan.stopped() {
        return 1;
    }
    let began = start();
    shot.prepare();
    timed(shot);
    let each = (stop() - began).max(1);
    let samples = plan.least.max(1) as u64;
    (plan.budget_ticks / samples / each).clamp(1, SHOTS)
}

#[inline(never)]
fn timed(shot: &mut dyn Shot) -> (u64, u64) {
    let begin = start();
    let checksum = black_box(shot.shoot());
    (stop() - begin, checksum)
}

/// Ticks of a stretch with nothing in it but a call that does nothing, as [`timed`] has one.
#[inline(never)]
pub(super) fn empty() -> u64 {
    struct Nothing;
    impl Shot for Nothing {
        fn prepare(&mut self) {}
        #[inline(never)]
        fn shoot(&mut self) -> u64 {
            0
        }
    }
    let nothing: &mut dyn Shot = &mut Nothing;
    timed(black_box(nothing)).0
}
