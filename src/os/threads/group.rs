//! Threads that start at the same tick, each on its own CPU, and time themselves.
//!
//! The workers of a [`ThreadGroup`] wait for a round, read its starting tick, and begin when their own
//! time-stamp counter reaches it, so that no worker's start depends on a message from another. Linux
//! keeps the counters of all CPUs in step wherever it accepts `tsc` as the clock source. Where they
//! disagree (firmware that sets them wrongly, a hypervisor that moves each by its own offset), workers
//! that should run at once would not, and the group is refused. The caller leads and is not a worker; it
//! sleeps during a round.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::host::{self, Misplaced, RoundOptions, Worker, WorkerTime};
use crate::kernel::Kernel;
use crate::os::affinity::{AffinityError, pin};
use crate::os::clock::pause;
use crate::os::core_distance::{Clocks, CoreDistance, CoreProbe};
use crate::os::preempt::Switches;
use crate::os::sysfs::Sysfs;
use crate::time::{SmtContention, start, stop};

/// Why a thread group could not be started.
#[derive(Debug)]
pub enum ThreadGroupError {
    /// A worker could not be pinned to its CPU.
    Affinity(AffinityError),
    /// A thread could not be started: its index, the number of threads, and the reason.
    Thread(usize, usize, io::Error),
    /// The time-stamp counter of a worker's CPU disagrees with the leader's: the CPU, and by how many ticks
    /// at least.
    Clock(usize, u64),
}

messages! { ThreadGroupError:
    ThreadGroupError::Affinity(error) => ("{error}");
    ThreadGroupError::Thread(index, of, error) => (
        "thread {} of {of} cannot be started: {error}", index + 1
    );
    ThreadGroupError::Clock(cpu, ticks) => (
        "threads cannot start at the same tick: the time-stamp counter of CPU {cpu} differs from \
         another CPU's by at least {ticks} ticks"
    );
}

/// A running thread group, as its leader sees it.
#[derive(Debug)]
pub struct ThreadGroup<'b> {
    board: &'b Board,
    options: RoundOptions,
    times: Vec<WorkerTime>,
}

/// Checks of the core's throughput that a worker makes before the first round: a fraction of a millisecond.
const CHECKS: usize = 100;

/// Time between two checks of whether the first two workers run on the cores that the system reports.
const PAUSE: Duration = Duration::from_millis(1);

/// The counter of a worker may differ from the leader's by 1/`OFF` of the ticks from the call of a round to
/// its start. A worker runs for longer than that, and may begin late by a tenth of its time
/// (`experiment::rig::threads::LATE`).
const OFF: u64 = 10;

/// The number of the round that ends the group.
const OVER: u64 = u64::MAX;

/// The operations of a round that only checks the distance of the cores.
const CHECK_CORES: u64 = u64::MAX;

/// The state that leader and workers share. The fields that workers poll change between rounds, not
/// during them. Each worker increments `finished` once per round.
#[derive(Debug)]
struct Board {
    /// The current round, from 1; [`OVER`] at the end.
    round: AtomicU64,
    /// Operations per worker in the round.
    operations: AtomicU64,
    /// Tick at which the round starts.
    start: AtomicU64,
    /// Parts finished so far, in all rounds.
    finished: AtomicU64,
    /// Workers that are pinned, or could not be.
    placed: AtomicU64,
    /// Whether a worker panicked.
    broken: AtomicBool,
    times: Vec<Mutex<WorkerTime>>,
    refused: Mutex<Option<AffinityError>>,
    keep_on: bool,
    /// By which the leader compares its time-stamp counter with each worker's.
    clocks: Clocks,
    /// The workers' time-stamp counter.
    clock: fn() -> u64,
    /// Whether workers check that they are alone on their cores: not if two workers share a core.
    watch_share: bool,
    /// Whether the system reports that the first two workers share a core.
    siblings: bool,
    /// Measures the distance between the first two workers, if the system reports that these two share a core,
    /// or that all workers have cores of their own.
    probe: Option<CoreProbe>,
    /// The distance between the first two workers in the last round.
    distance: Mutex<Option<CoreDistance>>,
    leader: Thread,
}

/// Starts the workers, calls `lead` to run rounds, and ends the workers.
///
/// # Errors
/// If a thread cannot be started or pinned to its CPU, or if the time-stamp counters of the CPUs disagree;
/// `lead` is then not called.
///
/// # Panics
/// If a worker's kernel panics.
pub fn thread_group<T>(
    workers: &mut [Worker<'_>],
    options: RoundOptions,
    lead: impl FnOnce(&mut ThreadGroup<'_>) -> T,
) -> Result<T, ThreadGroupError> {
    let share_a_core = |cpus: &[usize]| Sysfs::live().share_a_core(cpus);
    group_by(start, share_a_core, workers, options, lead)
}

/// A [`thread_group()`] whose workers answer questions for their counter by `clock`. `share_a_core` reports
/// whether two of several CPUs share a core.
fn group_by<T>(
    clock: fn() -> u64,
    share_a_core: impl Fn(&[usize]) -> bool,
    workers: &mut [Worker<'_>],
    options: RoundOptions,
    lead: impl FnOnce(&mut ThreadGroup<'_>) -> T,
) -> Result<T, ThreadGroupError> {
    let count = workers.len();
    let cpus: Vec<usize> = workers.iter().map(|worker| worker.cpu).collect();
    let watch_share = !share_a_core(&cpus);
    let siblings = count > 1 && share_a_core(&cpus[..2]);
    let check = (watch_share || siblings) && count > 1 && cpus[0] != cpus[1];
    let board = Board {
        round: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        start: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        placed: AtomicU64::new(0),
        broken: AtomicBool::new(false),
        times: (0..count).map(|_| Mutex::default()).collect(),
        refused: Mutex::new(None),
        keep_on: options.keep_on,
        clocks: Clocks::new(),
        clock,
        watch_share,
        siblings,
        probe: check.then(CoreProbe::new),
        distance: Mutex::new(None),
        leader: thread::current(),
    };
    thread::scope(|scope| {
        // Also if `lead` panics: otherwise the workers would wait for ever.
        let _over = Over(&board);
        for (index, worker) in workers.iter_mut().enumerate() {
            let board = &board;
            thread::Builder::new()
                .name(format!("worker {index}"))
                .spawn_scoped(scope, move || serve(board, index, worker))
                .map_err(|error| ThreadGroupError::Thread(index, count, error))?;
        }
        board.wait(|| board.placed.load(Ordering::Acquire) == count as u64);
        if let Some(error) = lock(&board.refused).take() {
            return Err(ThreadGroupError::Affinity(error));
        }
        for (index, &cpu) in cpus.iter().enumerate() {
            let given_up = || board.broken.load(Ordering::Acquire);
            let tolerance = options.ahead / OFF;
            if let Some(ticks) = board.clocks.difference(index, tolerance, start, given_up) {
                return Err(ThreadGroupError::Clock(cpu, ticks));
            }
        }
        Ok(lead(&mut ThreadGroup {
            board: &board,
            options,
            times: vec![WorkerTime::default(); count],
        }))
    })
}

impl host::ThreadGroup for ThreadGroup<'_> {
    fn times(&self) -> &[WorkerTime] {
        &self.times
    }

    fn misplaced(&self) -> Option<Misplaced> {
        let two_cores = (*lock(&self.board.distance))?.two_cores;
        match self.board.siblings {
            false if !two_cores => Some(Misplaced::OneCore),
            true if two_cores => Some(Misplaced::TwoCores),
            _ => None,
        }
    }

    fn round_trip(&self) -> Option<f64> {
        // Threads of one core also wait for each other's instructions.
        let distance = (*lock(&self.board.distance)).filter(|_| !self.board.siblings)?;
        Some(distance.round_trip)
    }

    fn wait_for_cores(&mut self, patience: &mut Duration) {
        while self.misplaced().is_some() && !patience.is_zero() {
            pause(PAUSE.min(*patience));
            *patience = patience.saturating_sub(PAUSE);
            self.round(CHECK_CORES);
        }
    }

    fn round(&mut self, operations: u64) -> &[WorkerTime] {
        let board = self.board;
        let number = board.round.load(Ordering::Relaxed) + 1;
        board.operations.store(operations, Ordering::Relaxed);
        board.start.store(start() + self.options.ahead, Ordering::Relaxed);
        board.round.store(number, Ordering::Release);
        let all = number * self.times.len() as u64;
        board.wait(|| board.finished.load(Ordering::Acquire) == all);
        for (time, slot) in self.times.iter_mut().zip(&board.times) {
            *time = *lock(slot);
        }
        &self.times
    }
}

impl Board {
    /// Sleeps until `done` returns true; workers wake the leader.
    fn wait(&self, done: impl Fn() -> bool) {
        while !done() {
            assert!(!self.broken.load(Ordering::Acquire), "a worker panicked");
            // The token of an earlier wake-up may be left, and a panic may come in between.
            thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Carries out a worker's part in measuring the distance between the first two workers.
    fn check_cores(&self, index: usize, round: u64) {
        // A worker that panicked in its untimed work after the last round will not come.
        let given_up = || self.broken.load(Ordering::Acquire);
        match (index, &self.probe) {
            (0, Some(probe)) => *lock(&self.distance) = Some(probe.read(round, given_up)),
            (1, Some(probe)) => probe.write(round, given_up),
            _ => {}
        }
    }

    /// Waits for a round other than `seen`, and answers questions to worker number `index` meanwhile. Yields
    /// the CPU soon: other threads may share it.
    fn next_after(&self, seen: u64, index: usize) -> u64 {
        for poll in 0u32.. {
            let round = self.round.load(Ordering::Acquire);
            if round != seen {
                return round;
            }
            self.clocks.answer(index, self.clock);
            if poll < 100 {
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        OVER
    }
}

/// Ends the group when dropped.
struct Over<'b>(&'b Board);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.round.store(OVER, Ordering::Release);
    }
}

/// Tells the leader if a worker ends by a panic.
struct Alarm<'b>(&'b Board);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.leader.unpark();
        }
    }
}

/// Runs a worker until the group ends.
fn serve(board: &Board, index: usize, worker: &mut Worker<'_>) {
    let _alarm = Alarm(board);
    let pinned = pin(worker.cpu);
    if let Err(error) = &pinned {
        lock(&board.refused).get_or_insert(error.clone());
    }
    let mut share = SmtContention::after(CHECKS);
    board.placed.fetch_add(1, Ordering::AcqRel);
    board.leader.unpark();
    let workers = board.times.len() as u64;
    let mut round = 0;
    loop {
        round = board.next_after(round, index);
        if round == OVER {
            return;
        }
        let operations = board.operations.load(Ordering::Relaxed);
        board.check_cores(index, round);
        if operations != CHECK_CORES {
            *lock(&board.times[index]) =
                timed_part(board, &mut *worker.kernel, operations, &mut share);
        }
        let all = round * workers;
        if board.finished.fetch_add(1, Ordering::AcqRel) + 1 == all {
            board.leader.unpark();
        }
        let rest = (operations / 16).max(1);
        while board.keep_on
            && operations != CHECK_CORES
            && board.finished.load(Ordering::Acquire) < all
            && board.round.load(Ordering::Relaxed) == round
        {
            worker.kernel.run(rest);
        }
    }
}

/// Runs and times one worker's part of a round.
fn timed_part(
    board: &Board,
    kernel: &mut dyn Kernel,
    operations: u64,
    share: &mut SmtContention,
) -> WorkerTime {
    let common = board.start.load(Ordering::Relaxed);
    let before = Switches::now();
    let alone_before = !board.watch_share || share.alone();
    while start() < common {
        core::hint::spin_loop();
    }
    let began = start();
    let checksum = core::hint::black_box(kernel.run(core::hint::black_box(operations)));
    let ended = stop();
    WorkerTime {
        late: began - common,
        ticks: ended - began,
        checksum,
        disturbed: !(alone_before && (!board.watch_share || share.alone()))
            || Switches::now().since(&before).any(),
    }
}

/// Locks a mutex, poisoned or not: a panic leaves no value here half written.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ThreadGroup as _;
    use crate::os::allowed;

    /// A kernel that adds to a shared sum, and panics once the sum has reached `last`.
    struct Adding<'s> {
        sum: &'s AtomicU64,
        last: u64,
    }

    impl Kernel for Adding<'_> {
        fn run(&mut self, operations: u64) -> u64 {
            for _ in 0..operations {
                assert!(self.sum.fetch_add(1, Ordering::Relaxed) < self.last, "enough");
            }
            operations
        }
    }

    const OPTIONS: RoundOptions = RoundOptions { ahead: 100_000, keep_on: false };

    fn workers(sum: &AtomicU64, count: usize, last: u64) -> Vec<Worker<'_>> {
        let cpus = allowed();
        (0..count)
            .map(|index| Worker {
                cpu: cpus[index % cpus.len()],
                kernel: Box::new(Adding { sum, last }),
            })
            .collect()
    }

    #[test]
    fn every_worker_runs_in_every_round() {
        let sum = AtomicU64::new(0);
        for count in [1, 2, 5] {
            sum.store(0, Ordering::Relaxed);
            let proofs = thread_group(&mut workers(&sum, count, u64::MAX), OPTIONS, |group| {
                let mut proofs = 0;
                for operations in [10, 20, 0] {
                    let times = group.round(operations);
                    assert_eq!(times.len(), count);
                    assert!(times.iter().all(|time| time.checksum == operations));
                    proofs += times.iter().map(|time| time.checksum).sum::<u64>();
                }
                proofs
            });
            assert_eq!(proofs.unwrap(), 30 * count as u64);
            assert_eq!(sum.load(Ordering::Relaxed), 30 * count as u64);
        }
    }

    #[test]
    fn workers_keep_on_until_all_are_done_and_no_longer() {
        let sum = AtomicU64::new(0);
        let options = RoundOptions { keep_on: true, ..OPTIONS };
        let timed = thread_group(&mut workers(&sum, 2, u64::MAX), options, |group| {
            (0..50).map(|_| group.round(100).len() as u64 * 100).sum::<u64>()
        });
        // The untimed operations come on top.
        assert!(sum.load(Ordering::Relaxed) >= timed.unwrap());
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let sum = AtomicU64::new(0);
        let mut two = workers(&sum, 2, u64::MAX);
        two[1].cpu = 8191;
        let error = thread_group(&mut two, OPTIONS, |_| ()).unwrap_err();
        assert!(error.to_string().contains("8191"), "{error}");
        assert_eq!(sum.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn workers_whose_counters_disagree_with_the_leaders_are_refused() {
        let sum = AtomicU64::new(0);
        let hours_ahead = || start() + (1 << 50);
        let two = &mut workers(&sum, 2, u64::MAX);
        let error = group_by(hours_ahead, |_| false, two, OPTIONS, |_| ());
        let error = error.unwrap_err().to_string();
        let cpu = format!("counter of CPU {} differs", allowed()[0]);
        assert!(error.contains(&cpu), "{error}");
        assert_eq!(sum.load(Ordering::Relaxed), 0);
    }

    /// Only reported siblings may turn out to have two cores.
    #[test]
    fn reported_siblings_are_checked_too() {
        let sum = AtomicU64::new(0);
        for siblings in [true, false] {
            let share_a_core = |_: &[usize]| siblings;
            let two = &mut workers(&sum, 2, u64::MAX);
            let apart = two[0].cpu != two[1].cpu;
            let measured = group_by(start, share_a_core, two, OPTIONS, |group| {
                assert_eq!(group.misplaced(), None);
                group.round(100);
                let distance = *lock(&group.board.distance);
                let elsewhere = distance.is_some_and(|of| of.two_cores == siblings);
                let way = if siblings { Misplaced::TwoCores } else { Misplaced::OneCore };
                assert_eq!(group.misplaced(), elsewhere.then_some(way));
                let passed = distance.is_some() && !siblings;
                assert_eq!(group.round_trip().is_some(), passed);
                distance.is_some()
            });
            assert_eq!(measured.unwrap(), apart);
        }
    }

    #[test]
    fn a_panic_of_a_worker_ends_the_group() {
        let sum = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(|| {
            thread_group(&mut workers(&sum, 2, 50), OPTIONS, |group| group.round(1000).len())
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_panic_of_the_leader_ends_the_group() {
        let sum = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(|| {
            thread_group(&mut workers(&sum, 2, u64::MAX), OPTIONS, |_| panic!("the leader"))
        });
        assert!(outcome.is_err_and(|cause| cause.is::<&str>()));
    }
}
