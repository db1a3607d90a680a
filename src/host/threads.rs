//! Threads and processes for experiments, and a bound on how far one thread runs ahead of another.
//!
//! The walker publishes its position and goes on. The runner asks how much further it may go. At the
//! bound it sleeps, until the walker has covered half of the bound and wakes it. The walker never waits.
//! A runner whose walker is gone or stands still does not wait for ever.

use alloc::boxed::Box;
use core::fmt::{self, Debug};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use core::time::Duration;

use super::Host;
use crate::kernel::{Kernel, Motion, Vector};

/// A bound on how far a runner may run ahead of a walker: the state that the two threads share. Fields
/// that are written often lie on separate lines, so that writing them does not invalidate the others.
#[derive(Debug)]
pub struct RunAheadLimit {
    host: &'static dyn Host,
    /// Position of the walker: steps modulo 2^32 in the upper half, its place in the lower half.
    walker: Apart<AtomicU64>,
    /// 1 while the runner sleeps. The host wakes the runner by this word.
    asleep: Apart<AtomicU32>,
    /// Steps of the walker at which it wakes the runner, modulo 2^32.
    due: AtomicU32,
    /// Whether the walker will not move again.
    gone: AtomicBool,
    bound: u32,
    /// How often the runner had each lead, from 0 steps to the bound.
    leads: Box<[AtomicU64]>,
}

/// A value on a separate pair of lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// What a runner may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAheadBudget {
    /// The runner may run on.
    Ahead {
        /// Steps that the runner is ahead.
        lead: u32,
        /// Steps that the runner may make.
        room: u32,
    },
    /// The runner is behind the walker.
    Behind {
        /// Steps that the walker has made.
        steps: u64,
        /// The walker's place.
        place: u32,
    },
    /// The runner is done: it or the walker has reached the goal, or the walker is gone or stands still.
    Over,
}

/// How far the runner was ahead, in steps, at the end of each of its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct RunAhead {
    /// The smallest lead.
    pub least: u32,
    /// The first decile.
    pub lower: u32,
    /// The median.
    pub median: u32,
    /// The ninth decile.
    pub upper: u32,
    /// The largest lead.
    pub most: u32,
}

/// How long a runner sleeps before it checks the walker again, and how long it waits for progress before it
/// gives up.
const NAP: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(1);

impl RunAheadLimit {
    /// Creates a bound of `bound` steps, at least 1, for a walker that has made none. The runner sleeps by
    /// `host`.
    pub fn new(host: &'static dyn Host, bound: u32) -> RunAheadLimit {
        let bound = bound.max(1);
        RunAheadLimit {
            host,
            walker: Apart::default(),
            asleep: Apart::default(),
            due: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            bound,
            leads: (0..=bound).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Called by the walker, which has made `steps` steps and is at `place`. Wakes a runner that waits for
    /// this step.
    #[inline]
    pub fn advance(&self, steps: u64, place: u32) {
        let packed = steps << 32 | u64::from(place);
        self.walker.0.store(packed, Ordering::Release);
        // The runner may fall asleep unnoticed in between. The next call notices it, or `settle` does.
        if self.asleep.0.load(Ordering::Acquire) == 1 {
            let due = self.due.load(Ordering::Relaxed);
            if (steps as u32).wrapping_sub(due) as i32 >= 0 {
                self.wake();
            }
        }
    }

    /// Called by the walker before a pause. Wakes the runner in any case.
    pub fn settle(&self) {
        // Either the runner sees the walker's position before it sleeps, or the walker sees that it sleeps.
        fence(Ordering::SeqCst);
        self.wake();
    }

    /// Called when the walker will not move again.
    pub fn let_go(&self) {
        self.gone.store(true, Ordering::Release);
        self.settle();
    }

    fn wake(&self) {
        if self.asleep.0.swap(0, Ordering::AcqRel) == 1 {
            self.host.wake(&self.asleep.0);
        }
    }

    /// Returns what a runner that has made `own` steps may do on its way to `goal` steps. Sleeps at the
    /// bound.
    pub fn budget(&self, own: u64, goal: u64) -> RunAheadBudget {
        let mut waited = Duration::ZERO;
        let mut seen = None;
        loop {
            let (steps, place) = self.walker(own);
            if steps >= goal || own >= goal || self.gone.load(Ordering::Acquire) {
                return RunAheadBudget::Over;
            }
            if steps > own {
                return RunAheadBudget::Behind { steps, place };
            }
            let lead = (own - steps) as u32;
            if lead < self.bound {
                let left = u32::try_from(goal - own).unwrap_or(u32::MAX);
                let room = left.min(self.bound - lead);
                return RunAheadBudget::Ahead { lead, room };
            }
            if seen != Some(steps) {
                (waited, seen) = (Duration::ZERO, Some(steps));
            }
            if waited > PATIENCE {
                return RunAheadBudget::Over;
            }
            waited += self.sleep(own);
        }
    }

    /// Called by the runner, which has run on and is at most `lead` steps ahead.
    pub fn note(&self, lead: u32) {
        let count = &self.leads[lead.min(self.bound) as usize];
        // Only the runner writes it.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the leads of the runner so far; `None` if it never ran.
    pub fn leads(&self) -> Option<RunAhead> {
        let counts = || self.leads.iter().map(|count| count.load(Ordering::Relaxed));
        let all: u64 = counts().sum();
        let quantile = |tenths: u64| {
            // The smallest lead up to which this many tenths of all leads lie, and at least one.
            let wanted = (all * tenths).div_ceil(10).max(1);
            let mut sum = 0;
            let found = counts().position(|count| {
                sum += count;
                sum >= wanted
            });
            found.unwrap_or(0) as u32
        };
        (all > 0).then(|| RunAhead {
            least: quantile(0),
            lower: quantile(1),
            median: quantile(5),
            upper: quantile(9),
            most: quantile(10),
        })
    }

    /// Returns steps and place of the walker for a runner that has made `own` steps. The two step counts must
    /// differ by less than 2^31.
    fn walker(&self, own: u64) -> (u64, u32) {
        let packed = self.walker.0.load(Ordering::Acquire);
        let apart = ((packed >> 32) as u32).wrapping_sub(own as u32) as i32;
        (own.saturating_add_signed(apart.into()), packed as u32)
    }

    /// Sleeps, and returns for how long: at most a nap, so that a process that was stopped does not count that
    /// time. The host may return early. Without a clock, every sleep counts as a whole nap.
    fn sleep(&self, own: u64) -> Duration {
        let began = self.host.now();
        // At this step of the walker, half of the bound is left to the runner.
        let due = own - u64::from(self.bound / 2);
        self.due.store(due as u32, Ordering::Relaxed);
        self.asleep.0.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.walker(own).0 < due && !self.gone.load(Ordering::Acquire) {
            self.host.sleep(&self.asleep.0, 1, NAP);
        }
        self.asleep.0.store(0, Ordering::Relaxed);
        match (began, self.host.now()) {
            (Ok(began), Ok(ended)) => ended.saturating_sub(began).min(NAP),
            _ => NAP,
        }
    }
}

/// A thread to start: its CPU and its work.
pub struct Worker<'k> {
    /// The CPU to which the thread is pinned.
    pub cpu: usize,
    /// The thread's work.
    pub kernel: Box<dyn Kernel + Send + 'k>,
}

impl<'k> Worker<'k> {
    /// Describes a thread on `cpu` that runs `kernel`.
    pub fn new(cpu: usize, kernel: impl Kernel + Send + 'k) -> Self {
        let kernel = Box::new(kernel);
        Worker { cpu, kernel }
    }
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker {{ cpu: {} }}", self.cpu)
    }
}

/// The timing of one worker in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// Ticks from the common start to the worker's own start.
    pub late: u64,
    /// Ticks from the worker's own start to its end.
    pub ticks: u64,
    /// The checksum that its kernel returned.
    pub checksum: u64,
    /// Whether the thread left its CPU meanwhile, or shared its core before or after the round.
    pub disturbed: bool,
}

impl WorkerTime {
    /// Returns the ticks from the common start to the worker's end.
    pub fn until(&self) -> u64 {
        self.late + self.ticks
    }
}

/// How a round is run.
#[derive(Clone, Copy, Debug)]
pub struct RoundOptions {
    /// Ticks from the call to the common start. Every worker must notice the round in this time.
    pub ahead: u64,
    /// Whether a worker that is done goes on, untimed, until all workers are done, so that the last
    /// operations of a worker meet as much traffic as the first. Not for workers that share a CPU.
    pub keep_on: bool,
}

/// A running thread group, as its leader sees it.
pub trait ThreadGroup {
    /// Makes every worker do `operations` operations, all from the same tick on. Returns the times of this
    /// round, in the workers' order.
    ///
    /// # Panics
    /// If a worker's kernel panicked.
    fn round(&mut self, operations: u64) -> &[WorkerTime];

    /// Returns the times of the last round, in the workers' order.
    fn times(&self) -> &[WorkerTime];

    /// Returns how the first two workers ran on other cores than the host reports, when the last round
    /// began; `None` if they did not.
    fn misplaced(&self) -> Option<Misplaced>;

    /// Returns the ticks per round trip of a line between the first two workers when the last round began,
    /// by `lock cmpxchg`; `None` if the host reports that two workers share a core.
    fn round_trip(&self) -> Option<f64>;

    /// Waits until the first two workers run on different cores, or on one if the host reports that they
    /// share one, or until `patience` is used up. Subtracts the time waited from `patience`.
    fn wait_for_cores(&mut self, patience: &mut Duration);
}

/// How two threads ran on other cores than the host reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misplaced {
    /// On one core, although the host reports two.
    OneCore,
    /// On two cores, although the host reports that they share one.
    TwoCores,
}

impl Misplaced {
    /// All ways.
    pub const ALL: [Misplaced; 2] = [Misplaced::OneCore, Misplaced::TwoCores];

    /// Returns the reason why a measurement with such threads is untestable.
    pub const fn reason(self) -> &'static str {
        match self {
            Misplaced::OneCore => {
                "the two CPUs are threads of one core, whatever the system reports: data that one \
                 wrote lies in the other's L1d"
            }
            Misplaced::TwoCores => {
                "the two CPUs are two cores, whatever the system reports: data that one wrote does \
                 not lie in the other's L1d"
            }
        }
    }
}

/// Stores an optional [`Misplaced`] as a flag for each way, of which a record has only the one that is true.
#[cfg(feature = "record")]
pub(crate) mod misplaced {
    use super::Misplaced;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Flags {
        #[serde(skip_serializing_if = "is_false")]
        one_core: bool,
        #[serde(skip_serializing_if = "is_false")]
        two_cores: bool,
    }

    fn is_false(flag: &bool) -> bool {
        !flag
    }

    pub(crate) fn serialize<S: Serializer>(
        of: &Option<Misplaced>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let is = |way| *of == Some(way);
        Flags { one_core: is(Misplaced::OneCore), two_cores: is(Misplaced::TwoCores) }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D>(from: D) -> Result<Option<Misplaced>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let flags = Flags::deserialize(from)?;
        let [one, two] = Misplaced::ALL;
        Ok(flags.one_core.then_some(one).or(flags.two_cores.then_some(two)))
    }
}

/// The work of a second process.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundLoad {
    /// The CPU to which the process is pinned.
    pub cpu: usize,
    /// Bytes of its memory: whole blocks of 512 bytes, in each part if the motion has several.
    pub bytes: usize,
    /// What the process does to the bytes, again and again.
    pub motion: Motion,
    /// The instructions that it uses.
    pub vector: Vector,
}

/// A second process that works until dropped.
pub trait Process: Debug {
    /// Returns the number of stretches of work done so far. It grows while the process is at work.
    fn stretches(&self) -> u64;

    /// Returns whether the process exists.
    fn lives(&mut self) -> bool;
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;
    use crate::experiment::Linux;
    use crate::host::Lack;

    /// Runs to `goal` within `limit`, in parts of up to `batch` steps, and publishes the position in `at`.
    fn run(limit: &RunAheadLimit, goal: u64, batch: u32, at: &AtomicU64) {
        let mut own = 0;
        loop {
            match limit.budget(own, goal) {
                RunAheadBudget::Over => return,
                RunAheadBudget::Behind { steps, place } => {
                    assert_eq!(u64::from(place), steps % 1000);
                    own = steps;
                }
                RunAheadBudget::Ahead { lead, room } => {
                    let part = room.min(batch);
                    own += u64::from(part);
                    // Published early: the walker must never find the runner beyond the bound.
                    at.store(own, Ordering::SeqCst);
                    limit.note(lead + part);
                }
            }
        }
    }

    #[test]
    fn a_runner_never_leads_by_more_than_the_bound() {
        const GOAL: u64 = 20_000;
        for (bound, stride, batch) in [(1, 1, 1), (7, 3, 100), (100, 10, 8), (100, 64, 100)] {
            let limit = RunAheadLimit::new(&Linux, bound);
            let at = AtomicU64::new(0);
            thread::scope(|scope| {
                scope.spawn(|| run(&limit, GOAL, batch, &at));
                let mut steps = 0u64;
                while steps < GOAL {
                    // The runner may have acted on any step that the walker has published so far.
                    let runner = at.load(Ordering::SeqCst);
                    assert!(runner <= steps + u64::from(bound), "{runner} at {steps}");
                    // Slower than the runner, now and then.
                    (0..steps % 100).for_each(|_| core::hint::spin_loop());
                    steps += stride;
                    limit.advance(steps, (steps % 1000) as u32);
                }
                limit.settle();
            });
            let most = limit.leads().map_or(0, |lead| lead.most);
            assert!(most <= bound, "{most} of {bound}");
        }
    }

    #[test]
    fn a_walker_that_stands_still_or_is_gone_is_not_waited_for() {
        let limit = RunAheadLimit::new(&Linux, 3);
        let at = AtomicU64::new(0);
        // The runner gives up after a second.
        run(&limit, 10, 1, &at);
        assert_eq!(at.load(Ordering::Relaxed), 3);
        thread::scope(|scope| {
            scope.spawn(|| run(&limit, 10, 1, &at));
            limit.let_go();
        });
        assert_eq!(limit.budget(0, 10), RunAheadBudget::Over);
    }

    /// A host whose sleep returns after 10 ms.
    #[derive(Debug)]
    struct Hasty(AtomicU64);

    impl Host for Hasty {
        fn name(&self) -> &'static str {
            "a hasty host"
        }

        fn now(&self) -> Result<Duration, Lack> {
            Ok(Duration::from_millis(10) * self.0.load(Ordering::Relaxed) as u32)
        }

        fn sleep(&self, _: &AtomicU32, _: u32, _: Duration) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_runner_waits_for_a_time_and_not_for_a_number_of_sleeps() {
        static HASTY: Hasty = Hasty(AtomicU64::new(0));
        let limit = RunAheadLimit::new(&HASTY, 3);
        assert_eq!(limit.budget(3, 10), RunAheadBudget::Over);
        assert_eq!(HASTY.0.load(Ordering::Relaxed), 101);
    }

    #[test]
    fn steps_are_told_apart_beyond_32_bits() {
        let limit = RunAheadLimit::new(&Linux, 10);
        let many = (1 << 33) + 5;
        limit.advance(many, 7);
        let behind = RunAheadBudget::Behind { steps: many, place: 7 };
        assert_eq!(limit.budget(many - 100, many + 50), behind);
        let ahead = RunAheadBudget::Ahead { lead: 4, room: 6 };
        assert_eq!(limit.budget(many + 4, many + 50), ahead);
        assert_eq!(limit.budget(many + 4, many + 5), RunAheadBudget::Ahead { lead: 4, room: 1 });
        assert_eq!(limit.budget(many - 1, many), RunAheadBudget::Over);
    }

    #[test]
    fn leads_are_counted_by_tenths() {
        let limit = RunAheadLimit::new(&Linux, 10);
        assert_eq!(limit.leads(), None);
        (1..=10).for_each(|lead| limit.note(lead));
        let expected = RunAhead { least: 1, lower: 1, median: 5, upper: 9, most: 10 };
        assert_eq!(limit.leads(), Some(expected));
    }
}
