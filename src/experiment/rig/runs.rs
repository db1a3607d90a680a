//! Runs of a kernel, each timed separately.

use crate::experiment::sync::{Mutex, lock};
use crate::prelude::*;
use alloc::sync::Arc;

use crate::experiment::point::distribution::RUNS;
use crate::experiment::{Distribution, Testable, Timing, Workload};
use crate::host::{Host, RoundOptions};
use crate::kernel::{Kernel, Register, Work};
use crate::measure::{Shot, each_shot};
use crate::time::start;

/// Ticks from the call of a round to its start: enough for sleeping workers to wake up.
const AHEAD: u64 = 100_000;

/// Ticks after which no further run is started, a few seconds: if the host has put another thread to
/// sleep, every run may wait milliseconds for it.
const LONGEST: u64 = 10_000_000_000;

/// Times [`RUNS`] runs of `operations` operations separately: on this thread, or on the first of several
/// threads while the others work. Returns `None` if single runs of this workload cannot be timed.
///
/// # Errors
/// If a thread cannot be started or kept on its CPU.
pub(super) fn one_by_one(
    host: &dyn Host,
    workload: &mut Workload<'_>,
    operations: u64,
) -> Testable<Option<Distribution>> {
    let mut ticks = Vec::with_capacity(RUNS);
    match workload {
        Workload::Steady { kernel, beside: None, .. } => {
            let kernel = kernel.as_mut();
            time(&mut Run { kernel, operations }, &mut ticks);
        }
        Workload::Shot { shot, .. } => time(shot.as_mut(), &mut ticks),
        Workload::Threads { workers, timing: Timing::AtOnce { in_step: false, .. } } => {
            let Some(first) = workers.first_mut() else { return Ok(None) };
            let found = Arc::new(Mutex::new(ticks));
            let in_its_place = Box::new(Register::default());
            first.kernel = Box::new(OneByOne {
                kernel: core::mem::replace(&mut first.kernel, in_its_place),
                operations,
                ticks: Arc::clone(&found),
                done: false,
            });
            let options = RoundOptions { ahead: AHEAD, keep_on: true };
            // The first worker does all its runs in one operation. The others continue until it is done.
            host.thread_group(workers, options, &mut |group| {
                group.round(1);
            })?;
            ticks = core::mem::take(&mut *lock(&found));
        }
        _ => return Ok(None),
    }
    Ok(Distribution::of(&mut ticks, operations))
}

/// Appends the ticks of runs to `ticks` until it is full, or until [`LONGEST`] has passed.
fn time(shot: &mut dyn Shot, ticks: &mut Vec<u64>) {
    let room = ticks.capacity() - ticks.len();
    let began = start();
    let over = &mut || start().saturating_sub(began) > LONGEST;
    each_shot(shot, room as u64, &mut |run| ticks.push(run), over);
}

/// A run of some operations of a kernel.
struct Run<'k, 'm> {
    kernel: &'k mut (dyn Kernel + 'm),
    operations: u64,
}

impl Shot for Run<'_, '_> {
    fn prepare(&mut self) {}

    fn shoot(&mut self) -> u64 {
        self.kernel.run(self.operations)
    }
}

/// A kernel whose first operation times separate runs of the kernel inside. Later operations run that
/// kernel as usual.
struct OneByOne<'m> {
    kernel: Box<dyn Kernel + Send + 'm>,
    operations: u64,
    ticks: Arc<Mutex<Vec<u64>>>,
    done: bool,
}

impl Kernel for OneByOne<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        let kernel = self.kernel.as_mut();
        let mut ticks = lock(&self.ticks);
        if self.done {
            return kernel.run(operations);
        }
        self.done = true;
        let operations = self.operations;
        time(&mut Run { kernel, operations }, &mut ticks);
        0
    }

    fn work(&self) -> Work {
        self.kernel.work()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::experiment::SampleOf;
    use crate::host::Worker;
    use crate::os::allowed;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts its operations and its runs.
    #[derive(Clone, Default)]
    struct Counting(Arc<[AtomicU64; 2]>);

    impl Counting {
        fn counts(&self) -> [u64; 2] {
            [0, 1].map(|index| self.0[index].load(Ordering::Relaxed))
        }
    }

    impl Kernel for Counting {
        fn run(&mut self, operations: u64) -> u64 {
            self.0[0].fetch_add(operations, Ordering::Relaxed);
            self.0[1].fetch_add(1, Ordering::Relaxed);
            0
        }
    }

    #[test]
    fn each_run_is_of_as_many_operations_as_asked_for() {
        let kernel = Counting::default();
        let mut workload = Workload::steady(kernel.clone(), 1);
        let found = one_by_one(&Linux, &mut workload, 7).unwrap().unwrap();
        let [operations, runs] = kernel.counts();
        assert_eq!((found.count, found.operations), (RUNS as u64, 7));
        // Warm-up runs before the first sample are counted as well.
        assert!(runs >= RUNS as u64 && operations == 7 * runs, "{runs}");
    }

    #[test]
    fn the_first_of_several_threads_is_timed_while_the_others_work() {
        let cpus = allowed();
        let kernels = [Counting::default(), Counting::default()];
        let worker = |index: usize| Worker::new(cpus[index % cpus.len()], kernels[index].clone());
        let workers = vec![worker(0), worker(1)];
        let mut workload = Workload::at_once(workers, SampleOf::First, 1);
        let found = one_by_one(&Linux, &mut workload, 3).unwrap().unwrap();
        assert_eq!(found.count, RUNS as u64);
        assert!(kernels[0].counts()[0] >= 3 * RUNS as u64);
        assert!(kernels[1].counts()[0] > 0);
    }

    #[test]
    fn a_count_has_no_runs() {
        assert_eq!(one_by_one(&Linux, &mut Workload::Count(1.0), 1), Ok(None));
    }
}
