//! Threads that start at the same tick, each on its own CPU, and time themselves.
//!
//! The members of a [`ThreadGroup`] wait for a round, read its starting tick, and begin when their own
//! time-stamp counter reaches it, so that no member's start depends on a message from another. Linux
//! keeps the counters of all CPUs in step wherever it accepts `tsc` as the clock source. Where they
//! disagree (firmware that sets them wrongly, a hypervisor that moves each by its own offset), members
//! that should run at once would not, and the team is refused. The caller leads and is not a member; it
//! sleeps during a round.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use super::affinity::{AffinityError, pin};
use super::apart::{Clocks, CoreDistance, Lines};
use super::clock::pause;
use super::preempt::Switches;
use super::sysfs::Sysfs;
use crate::host::{RoundOptions, Team, Worker, WorkerTime};
use crate::kernel::Kernel;
use crate::time::{SmtContention, start, stop};

/// Why a team could not be started.
#[derive(Debug)]
pub enum ThreadGroupError {
    /// A member could not be pinned to its CPU.
    Affinity(AffinityError),
    /// A thread could not be started: its index, the number of threads, and the reason.
    Thread(usize, usize, io::Error),
    /// The time-stamp counter of a member's CPU disagrees with the leader's: the CPU, and by how many ticks
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

/// A running team, as its leader sees it.
#[derive(Debug)]
pub struct ThreadGroup<'b> {
    board: &'b Board,
    options: RoundOptions,
    turns: Vec<WorkerTime>,
}

/// Throughput checks that a member makes on its core before the first round: a fraction of a millisecond.
const LOOKS: usize = 100;

/// Time between two checks of whether the first two members run on the cores that the system reports.
const PAUSE: Duration = Duration::from_millis(1);

/// The counter of a member may differ from the leader's by 1/`OFF` of the ticks from the call of a round to
/// its start. A member runs for longer than that, and may begin late by a tenth of its time
/// (`experiment::rig::threads::LATE`).
const OFF: u64 = 10;

/// The number of the round that ends the team.
const OVER: u64 = u64::MAX;

/// The operations of a round in which members only meet.
const MEET: u64 = u64::MAX;

/// The state that leader and members share. The fields that members poll change between rounds, not
/// during them. Each member increments `finished` once per round.
#[derive(Debug)]
struct Board {
    /// The current round, from 1; [`OVER`] at the end.
    round: AtomicU64,
    /// Operations per member in the round.
    operations: AtomicU64,
    /// Tick at which the round starts.
    start: AtomicU64,
    /// Turns finished so far, in all rounds.
    finished: AtomicU64,
    /// Members that are pinned, or could not be.
    placed: AtomicU64,
    /// Whether a member panicked.
    broken: AtomicBool,
    turns: Vec<Mutex<WorkerTime>>,
    refused: Mutex<Option<AffinityError>>,
    keep_on: bool,
    /// By which the leader compares its time-stamp counter with each member's.
    clocks: Clocks,
    /// The members' time-stamp counter.
    clock: fn() -> u64,
    /// Whether members check that they are alone on their cores: not if two members share a core.
    look: bool,
    /// Whether the system reports that the first two members share a core.
    siblings: bool,
    /// The lines that the second member hands to the first, if the system reports that these two share a core,
    /// or that all members have cores of their own.
    lines: Option<Lines>,
    /// The result of the handover in the last round.
    met: Mutex<Option<CoreDistance>>,
    leader: Thread,
}

/// Starts the members, calls `lead` to run rounds, and ends the members.
///
/// # Errors
/// If a thread cannot be started or pinned to its CPU, or if the time-stamp counters of the CPUs disagree;
/// `lead` is then not called.
///
/// # Panics
/// If a member's kernel panics.
pub fn team<T>(
    members: &mut [Worker<'_>],
    options: RoundOptions,
    lead: impl FnOnce(&mut ThreadGroup<'_>) -> T,
) -> Result<T, ThreadGroupError> {
    let share_a_core = |cpus: &[usize]| Sysfs::live().share_a_core(cpus);
    team_by(start, share_a_core, members, options, lead)
}

/// A [`team()`] whose members answer questions for their counter by `clock`. `share_a_core` reports whether two
/// of several CPUs share a core.
fn team_by<T>(
    clock: fn() -> u64,
    share_a_core: impl Fn(&[usize]) -> bool,
    members: &mut [Worker<'_>],
    options: RoundOptions,
    lead: impl FnOnce(&mut ThreadGroup<'_>) -> T,
) -> Result<T, ThreadGroupError> {
    let count = members.len();
    let cpus: Vec<usize> = members.iter().map(|member| member.cpu).collect();
    let look = !share_a_core(&cpus);
    let siblings = count > 1 && share_a_core(&cpus[..2]);
    let meet = (look || siblings) && count > 1 && cpus[0] != cpus[1];
    let board = Board {
        round: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        start: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        placed: AtomicU64::new(0),
        broken: AtomicBool::new(false),
        turns: (0..count).map(|_| Mutex::default()).collect(),
        refused: Mutex::new(None),
        keep_on: options.keep_on,
        clocks: Clocks::new(),
        clock,
        look,
        siblings,
        lines: meet.then(Lines::new),
        met: Mutex::new(None),
        leader: thread::current(),
    };
    thread::scope(|scope| {
        // Also if `lead` panics: otherwise the members would wait for ever.
        let _over = Over(&board);
        for (index, member) in members.iter_mut().enumerate() {
            let board = &board;
            thread::Builder::new()
                .name(format!("member {index}"))
                .spawn_scoped(scope, move || serve(board, index, member))
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
            turns: vec![WorkerTime::default(); count],
        }))
    })
}

impl Team for ThreadGroup<'_> {
    fn turns(&self) -> &[WorkerTime] {
        &self.turns
    }

    fn one_core(&self) -> bool {
        !self.board.siblings && lock(&self.board.met).is_some_and(|met| !met.apart)
    }

    fn two_cores(&self) -> bool {
        self.board.siblings && lock(&self.board.met).is_some_and(|met| met.apart)
    }

    fn round_trip(&self) -> Option<f64> {
        // Threads of one core also wait for each other's instructions.
        let met = (*lock(&self.board.met)).filter(|_| !self.board.siblings)?;
        Some(met.round_trip)
    }

    fn wait_for_cores(&mut self, patience: &mut Duration) {
        while (self.one_core() || self.two_cores()) && !patience.is_zero() {
            pause(PAUSE.min(*patience));
            *patience = patience.saturating_sub(PAUSE);
            self.round(MEET);
        }
    }

    fn round(&mut self, operations: u64) -> &[WorkerTime] {
        let board = self.board;
        let number = board.round.load(Ordering::Relaxed) + 1;
        board.operations.store(operations, Ordering::Relaxed);
        board
            .start
            .store(start() + self.options.ahead, Ordering::Relaxed);
        board.round.store(number, Ordering::Release);
        let all = number * self.turns.len() as u64;
        board.wait(|| board.finished.load(Ordering::Acquire) == all);
        for (turn, slot) in self.turns.iter_mut().zip(&board.turns) {
            *turn = *lock(slot);
        }
        &self.turns
    }
}

impl Board {
    /// Sleeps until `done` returns true; members wake the leader.
    fn wait(&self, done: impl Fn() -> bool) {
        while !done() {
            assert!(!self.broken.load(Ordering::Acquire), "a member panicked");
            // The token of an earlier wake-up may be left, and a panic may come in between.
            thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Carries out a member's part in measuring the distance between the first two members.
    fn meet(&self, index: usize, round: u64) {
        // A member that panicked in its untimed work after the last round will not come.
        let given_up = || self.broken.load(Ordering::Acquire);
        match (index, &self.lines) {
            (0, Some(lines)) => *lock(&self.met) = Some(lines.read(round, given_up)),
            (1, Some(lines)) => lines.write(round, given_up),
            _ => {}
        }
    }

    /// Waits for a round other than `seen`, and answers questions to member number `index` meanwhile. Yields
    /// the CPU soon: other threads may share it.
    fn next_after(&self, seen: u64, index: usize) -> u64 {
        for look in 0u32.. {
            let round = self.round.load(Ordering::Acquire);
            if round != seen {
                return round;
            }
            self.clocks.answer(index, self.clock);
            if look < 100 {
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        OVER
    }
}

/// Ends the team when dropped.
struct Over<'b>(&'b Board);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.round.store(OVER, Ordering::Release);
    }
}

/// Tells the leader if a member ends by a panic.
struct Alarm<'b>(&'b Board);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.leader.unpark();
        }
    }
}

/// Runs a member until the team ends.
fn serve(board: &Board, index: usize, member: &mut Worker<'_>) {
    let _alarm = Alarm(board);
    let pinned = pin(member.cpu);
    if let Err(error) = &pinned {
        lock(&board.refused).get_or_insert(error.clone());
    }
    let mut share = SmtContention::after(LOOKS);
    board.placed.fetch_add(1, Ordering::AcqRel);
    board.leader.unpark();
    let members = board.turns.len() as u64;
    let mut round = 0;
    loop {
        round = board.next_after(round, index);
        if round == OVER {
            return;
        }
        let operations = board.operations.load(Ordering::Relaxed);
        board.meet(index, round);
        if operations != MEET {
            *lock(&board.turns[index]) = turn(board, &mut *member.kernel, operations, &mut share);
        }
        let all = round * members;
        if board.finished.fetch_add(1, Ordering::AcqRel) + 1 == all {
            board.leader.unpark();
        }
        let rest = (operations / 16).max(1);
        while board.keep_on
            && operations != MEET
            && board.finished.load(Ordering::Acquire) < all
            && board.round.load(Ordering::Relaxed) == round
        {
            member.kernel.run(rest);
        }
    }
}

/// Runs and times one member's part of a round.
fn turn(
    board: &Board,
    kernel: &mut dyn Kernel,
    operations: u64,
    share: &mut SmtContention,
) -> WorkerTime {
    let common = board.start.load(Ordering::Relaxed);
    let before = Switches::now();
    let met = !board.look || share.alone();
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
        disturbed: !(met && (!board.look || share.alone())) || Switches::now().since(&before).any(),
    }
}

/// Locks a mutex, poisoned or not: a panic leaves no value here half written.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::allowed;

    /// A kernel that adds to a shared sum, and panics once the sum has reached `last`.
    struct Adding<'s> {
        sum: &'s AtomicU64,
        last: u64,
    }

    impl Kernel for Adding<'_> {
        fn run(&mut self, operations: u64) -> u64 {
            for _ in 0..operations {
                assert!(
                    self.sum.fetch_add(1, Ordering::Relaxed) < self.last,
                    "enough"
                );
            }
            operations
        }
    }

    const OPTIONS: RoundOptions = RoundOptions {
        ahead: 100_000,
        keep_on: false,
    };

    fn members(sum: &AtomicU64, count: usize, last: u64) -> Vec<Worker<'_>> {
        let cpus = allowed();
        (0..count)
            .map(|index| Worker {
                cpu: cpus[index % cpus.len()],
                kernel: Box::new(Adding { sum, last }),
            })
            .collect()
    }

    #[test]
    fn every_member_takes_its_turn_in_every_round() {
        let sum = AtomicU64::new(0);
        for count in [1, 2, 5] {
            sum.store(0, Ordering::Relaxed);
            let proofs = team(&mut members(&sum, count, u64::MAX), OPTIONS, |team| {
                let mut proofs = 0;
                for operations in [10, 20, 0] {
                    let turns = team.round(operations);
                    assert_eq!(turns.len(), count);
                    assert!(turns.iter().all(|turn| turn.checksum == operations));
                    proofs += turns.iter().map(|turn| turn.checksum).sum::<u64>();
                }
                proofs
            });
            assert_eq!(proofs.unwrap(), 30 * count as u64);
            assert_eq!(sum.load(Ordering::Relaxed), 30 * count as u64);
        }
    }

    #[test]
    fn members_keep_on_until_all_are_done_and_no_longer() {
        let sum = AtomicU64::new(0);
        let options = RoundOptions {
            keep_on: true,
            ..OPTIONS
        };
        let timed = team(&mut members(&sum, 2, u64::MAX), options, |team| {
            (0..50)
                .map(|_| team.round(100).len() as u64 * 100)
                .sum::<u64>()
        });
        // The untimed operations come on top.
        assert!(sum.load(Ordering::Relaxed) >= timed.unwrap());
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let sum = AtomicU64::new(0);
        let mut two = members(&sum, 2, u64::MAX);
        two[1].cpu = 8191;
        let error = team(&mut two, OPTIONS, |_| ()).unwrap_err();
        assert!(error.to_string().contains("8191"), "{error}");
        assert_eq!(sum.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn members_whose_counters_disagree_with_the_leaders_are_refused() {
        let sum = AtomicU64::new(0);
        let hours_ahead = || start() + (1 << 50);
        let two = &mut members(&sum, 2, u64::MAX);
        let error = team_by(hours_ahead, |_| false, two, OPTIONS, |_| ());
        let error = error.unwrap_err().to_string();
        let cpu = format!("counter of CPU {} differs", allowed()[0]);
        assert!(error.contains(&cpu), "{error}");
        assert_eq!(sum.load(Ordering::Relaxed), 0);
    }

    /// Members that are reported as threads of one core meet as well as others, and only then may they turn out
    /// to have two cores.
    #[test]
    fn reported_siblings_meet_too() {
        let sum = AtomicU64::new(0);
        for siblings in [true, false] {
            let share_a_core = |_: &[usize]| siblings;
            let two = &mut members(&sum, 2, u64::MAX);
            let apart = two[0].cpu != two[1].cpu;
            let met = team_by(start, share_a_core, two, OPTIONS, |team| {
                assert!(!team.one_core() && !team.two_cores());
                team.round(100);
                let met = *lock(&team.board.met);
                let elsewhere = met.is_some_and(|met| met.apart == siblings);
                let said = [team.one_core(), team.two_cores()];
                assert_eq!(said, [elsewhere && !siblings, elsewhere && siblings]);
                assert_eq!(team.round_trip().is_some(), met.is_some() && !siblings);
                met.is_some()
            });
            assert_eq!(met.unwrap(), apart);
        }
    }

    #[test]
    fn a_panic_of_a_member_ends_the_team() {
        let sum = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(|| {
            team(&mut members(&sum, 2, 50), OPTIONS, |team| {
                team.round(1000).len()
            })
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_panic_of_the_leader_ends_the_team() {
        let sum = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(|| {
            team(&mut members(&sum, 2, u64::MAX), OPTIONS, |_| {
                panic!("the leader")
            })
        });
        assert!(outcome.is_err_and(|cause| cause.is::<&str>()));
    }
}
