//! Single operations, each after its own preparation.

use core::cell::Cell;
use core::hint::black_box;

use super::collect::{Stretches, collect};
use super::sample::Counted;
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
    /// Brings the memory into the state that the operation starts from. Not timed.
    fn prepare(&mut self);

    /// Does the operation and returns a checksum that proves it.
    fn shoot(&mut self) -> u64;

    /// Returns the number of operations per shot: the lines of a run that is flushed at once, the pages
    /// of a mapping. A sample is in ticks per operation. Must be the same for every shot.
    fn operations(&self) -> u64 {
        1
    }

    /// Whether the preparation moves the thread to another CPU. A [`Monitor`] takes such a move for a
    /// disturbance. It then watches the shots alone, not their preparations. By default false.
    fn moves(&self) -> bool {
        false
    }
}

/// The largest number of shots whose mean makes one sample. The time-stamp counter of some CPUs advances
/// in steps of tens of ticks. A mean over shots that begin at random phases of the step has a finer
/// resolution.
const SHOTS: u64 = 16;

/// Measures ticks per operation of a [`Shot`], less the cost of an empty stretch.
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
    let sample = |shot: &mut dyn Shot, time: &mut dyn FnMut(&mut dyn Shot) -> (u64, u64)| {
        let mut sum = Stretches { short: 0, long: 0, checksum: 0 };
        for _ in 0..shots {
            shot.prepare();
            let (ticks, checksum) = time(shot);
            sum.long += ticks;
            sum.short += empty();
            sum.checksum = checksum;
        }
        sum
    };
    if !shot.moves() || !watch.watches() {
        let mut take = || sample(shot, &mut timed);
        return collect(plan, watch, buffers, operations, &mut take);
    }
    let disturbances = Cell::new(0);
    let mut take = || {
        sample(shot, &mut |shot| {
            let before = watch.state();
            let timed = timed(shot);
            let disturbed = watch.state() != before;
            disturbances.set(disturbances.get() + u64::from(disturbed));
            timed
        })
    };
    let disturbed = &mut Counted(&disturbances);
    collect(plan, disturbed, buffers, operations, &mut take)
}

/// Times `shots` shots separately, each after its preparation, and records the ticks of each in
/// `histogram`, less the cost of an empty stretch. Nothing is averaged or left out: interruptions are
/// part of a distribution.
///
/// Fifteen shots that are not recorded come first: the empty stretch after each finds memory as cold as
/// the shot does. The time-stamp counter of some CPUs advances in steps of tens of ticks, and values
/// then lie that far apart. Ends early when `stop` returns true.
pub fn distribution(
    shot: &mut dyn Shot,
    shots: u64,
    histogram: &mut Histogram,
    stop: &mut dyn FnMut() -> bool,
) {
    each_shot(shot, shots, &mut |ticks| histogram.record(ticks), stop);
}

/// Like [`distribution`], but passes the ticks of each shot to `record`.
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

/// Returns the shots per sample: fewer than [`SHOTS`] if otherwise there were no time for the least
/// number of samples, because a single sample does not show how far the next would differ. Takes one
/// shot to find out, which is no sample.
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

/// Times an empty stretch: a call that does nothing, in place of the call in [`timed`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sample;

    /// A shot that changes what a monitor sees, in its preparation or while it is timed.
    struct Seen<'s> {
        state: &'s Cell<u64>,
        by_preparing: bool,
        moves: bool,
    }

    impl Seen<'_> {
        fn now(&self, preparing: bool) {
            let change = u64::from(preparing == self.by_preparing);
            self.state.set(self.state.get() + change);
        }
    }

    impl Shot for Seen<'_> {
        fn prepare(&mut self) {
            self.now(true);
        }

        fn shoot(&mut self) -> u64 {
            self.now(false);
            0
        }

        fn moves(&self) -> bool {
            self.moves
        }
    }

    #[test]
    fn a_shot_that_moves_the_thread_is_watched_while_it_is_timed() {
        let disturbed = |by_preparing, moves| {
            let state = Cell::new(0);
            let mut shot = Seen { state: &state, by_preparing, moves };
            let (mut samples, mut scratch) = ([Sample::default(); 8], [0.0; 8]);
            let buffers = Buffers { samples: &mut samples, scratch: &mut scratch };
            let plan = Plan::of_seconds(1.0, 1e-3);
            let outcome = one_shot(&mut shot, &plan, &mut Counted(&state), buffers).unwrap();
            (outcome.disturbed.unwrap(), outcome.taken)
        };
        assert!(matches!(disturbed(true, true), (0, 1..)));
        assert!(matches!(disturbed(true, false), (some, all) if some == all));
        assert!(matches!(disturbed(false, true), (some, all) if some == all));
    }
}
