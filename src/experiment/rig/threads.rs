//! Kernels on several threads at once: which worker's time a sample is, and how samples are taken.

use crate::experiment::{Run, SampleOf, Testable, ThreadStats, Untestable};
use crate::host::{Host, Misplaced, RoundOptions, ThreadGroup, Worker, WorkerTime};
use crate::measure::{Buffers, Counted, Outcome, Plan, in_long_stretches, in_stretches, in_whole};
use crate::order;
use crate::prelude::*;
use crate::stats::median_of;
use crate::time::Rate;
use core::cell::Cell;
use core::time::Duration;

/// Nanoseconds from the call of a round to its start.
const AHEAD: f64 = 30_000.0;

/// The longest total time that a point waits for the host to separate two CPUs that it has put on one
/// core, or to unite two that it has put on two.
const PATIENCE: Duration = Duration::from_millis(100);

/// A worker that starts later than 1/`LATE` of its time has not run beside the others throughout.
const LATE: u64 = 10;

/// Repetitions of each run, of which the fastest counts, where two kinds of run are compared: a worker
/// put to sleep makes a run several times as long.
const TRIES: usize = 4;

/// Measures the ticks per operation of `workers` that run at once, each doing its own operations.
///
/// # Errors
/// If a thread cannot be started or kept on its CPU.
pub(crate) fn at_once(
    host: &dyn Host,
    workers: &mut [Worker<'_>],
    pace: SampleOf,
    in_step: bool,
    rate: Rate,
    plan: &Plan<'_>,
    buffers: Buffers<'_>,
) -> Testable<Option<(Outcome, ThreadStats)>> {
    let (mut spread, alone) = Spread::of(workers);
    let options = RoundOptions { ahead: rate.ticks(AHEAD), keep_on: alone && !in_step };
    // Workers that share a CPU alternate every few milliseconds, so a sample must span several times. A
    // helper regains its lead in every stretch, and walks along one list are in step in some stretches
    // and apart in others: both are timed from beginning to end.
    let nanos = match pace {
        _ if !alone => 10e6,
        SampleOf::First | SampleOf::Fastest => 500e3,
        SampleOf::Median | SampleOf::Slowest => 40e3,
    };
    let plan = &Plan { sample_ticks: rate.ticks(nanos), ..*plan };
    let disturbances = Cell::new(0);
    let outcome = led(host, workers, options, |group| {
        let mut patience = PATIENCE;
        let mut time = |operations| {
            group.round(operations);
            if group.misplaced().is_some() && !patience.is_zero() {
                group.wait_for_cores(&mut patience);
                group.round(operations);
            }
            let all = spread.add(group, operations);
            let times = group.times();
            // Helpers may sleep and start late.
            let disturbed = match pace {
                SampleOf::First => alone && times.first().is_some_and(apart),
                _ => all,
            };
            disturbances.set(disturbances.get() + u64::from(disturbed));
            stretch(times, pace)
        };
        let watch = &mut Counted(&disturbances);
        match pace {
            SampleOf::First | SampleOf::Fastest => {
                in_long_stretches(&mut time, plan, watch, buffers)
            }
            SampleOf::Median | SampleOf::Slowest => in_stretches(&mut time, plan, watch, buffers),
        }
    })?;
    Ok(outcome.map(|outcome| (outcome, spread.stats())))
}

/// Runs whose operations the workers share.
pub(crate) struct Runs<'r> {
    /// Prepares a run.
    pub renew: &'r mut dyn FnMut(Run),
    /// Operations per run, of all workers together.
    pub operations: u64,
    /// The fraction of another run's time that is subtracted from each run's time.
    pub less: Option<f64>,
}

/// Measures the ticks per operation of runs that `workers` share, from their common start until the last
/// worker is done.
///
/// # Errors
/// If a thread cannot be started or kept on its CPU.
pub(crate) fn runs(
    host: &dyn Host,
    workers: &mut [Worker<'_>],
    runs: Runs<'_>,
    rate: Rate,
    plan: &Plan<'_>,
    buffers: Buffers<'_>,
) -> Testable<Option<(Outcome, ThreadStats)>> {
    let (mut spread, _) = Spread::of(workers);
    let options = RoundOptions { ahead: rate.ticks(AHEAD), keep_on: false };
    let Runs { renew, operations, less } = runs;
    let share = operations / workers.len().max(1) as u64;
    let disturbances = Cell::new(0);
    let outcome = led(host, workers, options, |group| {
        let mut patience = PATIENCE;
        let mut run = |which| {
            let mut from_anew = |group: &mut dyn ThreadGroup| {
                renew(which);
                // Not timed: the workers fetch what was renewed.
                group.round(0);
                group.round(share);
            };
            from_anew(group);
            if group.misplaced().is_some() && !patience.is_zero() {
                group.wait_for_cores(&mut patience);
                from_anew(group);
            }
            let disturbed = which == Run::One && spread.add(group, operations);
            let (ticks, checksum) = stretch(group.times(), SampleOf::Slowest);
            (ticks, disturbed, checksum)
        };
        let mut time = || {
            let (mut one, mut disturbed, checksum) = run(Run::One);
            let mut other = less.map(|_| run(Run::Other).0);
            for _ in 1..less.map_or(1, |_| TRIES) {
                let (ticks, shaken, _) = run(Run::One);
                if ticks < one {
                    (one, disturbed) = (ticks, shaken);
                }
                other = other.min(Some(run(Run::Other).0));
            }
            disturbances.set(disturbances.get() + u64::from(disturbed));
            let off = less.zip(other).map(|(less, other)| (other as f64 * less) as u64);
            (off.unwrap_or(0), one, checksum)
        };
        let watch = &mut Counted(&disturbances);
        in_whole(&mut time, operations, plan, watch, buffers)
    })?;
    Ok(outcome.map(|outcome| (outcome, spread.stats())))
}

/// Starts the workers, and returns the result of `lead`, which leads them through rounds.
///
/// # Errors
/// If a thread cannot be started or kept on its CPU.
fn led<T>(
    host: &dyn Host,
    workers: &mut [Worker<'_>],
    options: RoundOptions,
    lead: impl FnOnce(&mut dyn ThreadGroup) -> T,
) -> Testable<T> {
    let mut lead = Some(lead);
    let mut found = None;
    host.thread_group(workers, options, &mut |group| {
        found = lead.take().map(|lead| lead(group));
    })?;
    found.ok_or_else(|| Untestable("the threads were never led".to_owned()))
}

/// Whether a worker was disturbed, or did not run beside the others throughout.
fn apart(time: &WorkerTime) -> bool {
    time.disturbed || time.late > time.ticks / LATE
}

/// Times of the workers in each round.
struct Spread {
    workers: usize,
    cpus: usize,
    /// The CPUs of the first two workers.
    pair: Option<[usize; 2]>,
    fastest: Vec<f64>,
    slowest: Vec<f64>,
    /// The rounds in which the first two workers ran on other cores than the host reports.
    misplaced: Vec<Misplaced>,
    round_trips: Vec<f64>,
}

impl Spread {
    /// Returns statistics without rounds, and whether each worker has a CPU to itself.
    fn of(workers: &[Worker<'_>]) -> (Self, bool) {
        let cpus = order::distinct(workers.iter().map(|worker| worker.cpu));
        let spread = Spread {
            workers: workers.len(),
            cpus: cpus.len(),
            pair: match workers {
                [one, two, ..] => Some([one.cpu, two.cpu]),
                _ => None,
            },
            fastest: Vec::new(),
            slowest: Vec::new(),
            misplaced: Vec::new(),
            round_trips: Vec::new(),
        };
        let alone = spread.workers == spread.cpus;
        (spread, alone)
    }

    /// Adds the group's last round, of `operations` operations. Returns whether it was disturbed.
    fn add(&mut self, group: &dyn ThreadGroup, operations: u64) -> bool {
        let times = group.times();
        let each = |time: &WorkerTime| time.ticks as f64 / operations as f64;
        let values = || times.iter().map(each);
        self.fastest.extend(values().reduce(f64::min));
        self.slowest.extend(values().reduce(f64::max));
        self.misplaced.extend(group.misplaced());
        self.round_trips.extend(group.round_trip());
        // Workers that share a CPU disturb each other, which is the effect under test.
        self.workers == self.cpus && (group.misplaced().is_some() || times.iter().any(apart))
    }

    fn stats(self) -> ThreadStats {
        let rounds = self.fastest.len();
        let mostly =
            |way: &Misplaced| 2 * self.misplaced.iter().filter(|of| *of == way).count() > rounds;
        let misplaced = Misplaced::ALL.into_iter().find(mostly);
        ThreadStats {
            workers: self.workers as u32,
            cpus: self.cpus as u32,
            fastest: median_of(self.fastest).unwrap_or(f64::NAN),
            slowest: median_of(self.slowest).unwrap_or(f64::NAN),
            lead: None,
            pair: self.pair,
            misplaced,
            round_trip: median_of(self.round_trips),
        }
    }
}

/// Returns the ticks and the checksum of a round.
fn stretch(times: &[WorkerTime], pace: SampleOf) -> (u64, u64) {
    let checksum = times.iter().fold(0u64, |sum, time| sum.wrapping_add(time.checksum));
    (pace.ticks(times), checksum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    /// A kernel that does nothing.
    struct Idle;

    impl Kernel for Idle {
        fn run(&mut self, operations: u64) -> u64 {
            operations
        }
    }

    #[test]
    fn a_round_is_as_long_as_the_member_asked_for() {
        let times = [30, 10, 20].map(|ticks| WorkerTime {
            late: 25 - ticks / 2,
            ticks,
            checksum: 2,
            ..WorkerTime::default()
        });
        assert_eq!(stretch(&times, SampleOf::Fastest), (10, 6));
        assert_eq!(stretch(&times, SampleOf::Median), (20, 6));
        assert_eq!(stretch(&times, SampleOf::Slowest), (40, 6));
        assert_eq!(stretch(&times, SampleOf::First), (30, 6));
    }

    /// A thread group whose first two workers may run elsewhere than reported.
    struct Placed {
        misplaced: Option<Misplaced>,
        times: [WorkerTime; 2],
    }

    impl ThreadGroup for Placed {
        fn round(&mut self, _: u64) -> &[WorkerTime] {
            &self.times
        }

        fn times(&self) -> &[WorkerTime] {
            &self.times
        }

        fn misplaced(&self) -> Option<Misplaced> {
            self.misplaced
        }

        fn round_trip(&self) -> Option<f64> {
            None
        }

        fn wait_for_cores(&mut self, _: &mut Duration) {}
    }

    #[test]
    fn rounds_on_other_cores_than_reported_are_disturbed_and_counted() {
        let time = WorkerTime { ticks: 1000, ..WorkerTime::default() };
        let stats = |rounds: &[Option<Misplaced>]| {
            let workers = [0, 1].map(|cpu| Worker::new(cpu, Idle));
            let (mut spread, _) = Spread::of(&workers);
            for &misplaced in rounds {
                let group = Placed { misplaced, times: [time; 2] };
                assert_eq!(spread.add(&group, 10), misplaced.is_some());
            }
            spread.stats().misplaced
        };
        let [one, two] = Misplaced::ALL.map(Some);
        assert_eq!(stats(&[one, one, None]), one);
        assert_eq!(stats(&[two, None, two]), two);
        assert_eq!(stats(&[two, None]), None);
        assert_eq!(stats(&[one, two, None]), None);
    }
}
