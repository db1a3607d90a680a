//! Threads and processes that an experiment asks for, and a bound on how far one thread runs ahead of
//! another.
//!
//! The walker says how far it has come and goes on. The runner asks how much further it may go; at
//! the bound it sleeps, until the walker has come half of the way and wakes it. The walker never
//! waits, and a runner whose walker is gone or stands still does not wait for ever.

use alloc::boxed::Box;
use core::fmt::{self, Debug};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use core::time::Duration;

use super::Host;
use crate::kernel::{Kernel, Motion, Vector};

/// What two threads know of each other: each part on a line of its own, so that what is written
/// seldom is not fetched anew with what is written often.
#[derive(Debug)]
pub struct RunAheadLimit {
    host: &'static dyn Host,
    /// Where the walker is: steps, modulo 2^32, and below them its place.
    walker: Apart<AtomicU64>,
    /// 1 while the runner sleeps: what the host wakes it by.
    asleep: Apart<AtomicU32>,
    /// How many steps the walker must have made to wake it, modulo 2^32.
    due: AtomicU32,
    /// Whether the walker is gone for good.
    gone: AtomicBool,
    bound: u32,
    /// How often the runner was so many steps ahead, from 0 to the bound.
    leads: Box<[AtomicU64]>,
}

/// A value on two lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// What a runner may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAheadBudget {
    /// Run on by as many steps as `room`, from `lead` steps ahead.
    Ahead {
        /// Steps that it is ahead.
        lead: u32,
        /// Steps that it may make.
        room: u32,
    },
    /// It is behind: the walker has made `steps` steps and is at `place`.
    Behind {
        /// Steps of the walker.
        steps: u64,
        /// Its place.
        place: u32,
    },
    /// The walker is where it wants to go, or gone.
    Over,
}

/// How far a runner was ahead, in steps, each time that it had run on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct RunAhead {
    /// The least.
    pub least: u32,
    /// A tenth of the times it was no further ahead.
    pub lower: u32,
    /// The median.
    pub median: u32,
    /// Nine tenths of the times it was no further ahead.
    pub upper: u32,
    /// The most.
    pub most: u32,
}

/// How long a runner sleeps before it looks again, and how often it finds the walker where it was
/// before it gives up.
const NAP: Duration = Duration::from_millis(20);
const NAPS: u32 = 50;

impl RunAheadLimit {
    /// A leash of `bound` steps, at least 1; the walker has made none. The runner sleeps by `host`.
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

    /// The bound in steps.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// The walker has made `steps` steps, and is at `place`. Wakes a runner that waits for so many.
    #[inline]
    pub fn advance(&self, steps: u64, place: u32) {
        let packed = steps << 32 | u64::from(place);
        self.walker.0.store(packed, Ordering::Release);
        // The runner may fall asleep unseen in between; the next call sees it, or `settle` does.
        if self.asleep.0.load(Ordering::Acquire) == 1 {
            let due = self.due.load(Ordering::Relaxed);
            if (steps as u32).wrapping_sub(due) as i32 >= 0 {
                self.wake();
            }
        }
    }

    /// The walker makes a pause: wakes the runner in any case.
    pub fn settle(&self) {
        // The runner sees where the walker is before it sleeps, or the walker sees that it sleeps.
        fence(Ordering::SeqCst);
        self.wake();
    }

    /// The walker will not move again.
    pub fn let_go(&self) {
        self.gone.store(true, Ordering::Release);
        self.settle();
    }

    fn wake(&self) {
        if self.asleep.0.swap(0, Ordering::AcqRel) == 1 {
            self.host.wake(&self.asleep.0);
        }
    }

    /// What a runner that has made `own` steps may do on its way to `goal` steps; sleeps while it
    /// may do nothing.
    pub fn slack(&self, own: u64, goal: u64) -> RunAheadBudget {
        let mut naps = 0;
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
            naps = if seen == Some(steps) { naps + 1 } else { 0 };
            seen = Some(steps);
            if naps > NAPS {
                return RunAheadBudget::Over;
            }
            self.sleep(own);
        }
    }

    /// The runner has run on and is `lead` steps ahead, or less.
    pub fn note(&self, lead: u32) {
        let count = &self.leads[lead.min(self.bound) as usize];
        // Nobody else writes it.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// How far the runner was ahead so far; `None` if it never ran.
    pub fn leads(&self) -> Option<RunAhead> {
        let counts = || self.leads.iter().map(|count| count.load(Ordering::Relaxed));
        let all: u64 = counts().sum();
        let quantile = |tenths: u64| {
            // The first lead up to which there are so many tenths of all, and at least one.
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

    /// Steps and place of the walker, as a runner sees them that has made `own` steps: the two are
    /// less than 2^31 apart.
    fn walker(&self, own: u64) -> (u64, u32) {
        let packed = self.walker.0.load(Ordering::Acquire);
        let apart = ((packed >> 32) as u32).wrapping_sub(own as u32) as i32;
        (own.saturating_add_signed(apart.into()), packed as u32)
    }

    fn sleep(&self, own: u64) {
        // Half of the bound is left when the walker has made so many.
        let due = own - u64::from(self.bound / 2);
        self.due.store(due as u32, Ordering::Relaxed);
        self.asleep.0.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.walker(own).0 < due && !self.gone.load(Ordering::Acquire) {
            self.host.sleep(&self.asleep.0, 1, NAP);
        }
        self.asleep.0.store(0, Ordering::Relaxed);
    }
}

/// A thread to be: where it runs, and what.
pub struct Worker<'k> {
    /// The CPU that it is kept on.
    pub cpu: usize,
    /// Its work.
    pub kernel: Box<dyn Kernel + Send + 'k>,
}

impl<'k> Worker<'k> {
    /// A thread on `cpu` that runs `kernel`.
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

/// What one member did in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// Ticks from the common start to its own.
    pub late: u64,
    /// Ticks from its own start to its end.
    pub ticks: u64,
    /// What its kernel returned.
    pub checksum: u64,
    /// Whether the thread left its CPU meanwhile, or shared its core at either end.
    pub disturbed: bool,
}

impl WorkerTime {
    /// Ticks from the common start to its end.
    pub fn until(&self) -> u64 {
        self.late + self.ticks
    }
}

/// How a round goes.
#[derive(Clone, Copy, Debug)]
pub struct RoundOptions {
    /// Ticks from the call to the common start: time enough for every member to notice.
    pub ahead: u64,
    /// Whether a member that is done goes on, untimed, until all are: so that nobody's last
    /// operations meet less traffic than the first. Not for members that share a CPU.
    pub keep_on: bool,
}

/// Members at work, as their leader sees them.
pub trait Team {
    /// Has every member do `operations` operations, all from the same tick on. Returns their turns, in
    /// the members' order.
    fn round(&mut self, operations: u64) -> &[WorkerTime];

    /// The turns of the last round, in the members' order.
    fn turns(&self) -> &[WorkerTime];

    /// Whether the first two members had one core together when the last round began, though the host
    /// says that they have two.
    fn one_core(&self) -> bool;

    /// Ticks that a line took from the first member to the second and back when the last round began,
    /// by `lock cmpxchg`; nothing if the host says that they have one core.
    fn round_trip(&self) -> Option<f64>;

    /// Waits until the first two members have a core each, or until `patience` is used up, and takes
    /// from it what that took.
    fn wait_for_cores(&mut self, patience: &mut Duration);
}

/// What a second process does.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundLoad {
    /// The CPU that it is kept on.
    pub cpu: usize,
    /// Bytes of its memory, whole blocks of 512, in each half if there are two.
    pub bytes: usize,
    /// What it does to them, round and round.
    pub motion: Motion,
    /// By what.
    pub vector: Vector,
}

/// A second process at work, until dropped.
pub trait Process: Debug {
    /// How many stretches of work it has done so far: if that grows, it is at work.
    fn stretches(&self) -> u64;

    /// Whether it still exists.
    fn lives(&mut self) -> bool;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;
    use crate::experiment::Linux;

    /// A runner that goes to `goal` along `leash` in steps of up to `batch`, and says where it is.
    fn run(leash: &RunAheadLimit, goal: u64, batch: u32, at: &AtomicU64) {
        let mut own = 0;
        loop {
            match leash.slack(own, goal) {
                RunAheadBudget::Over => return,
                RunAheadBudget::Behind { steps, place } => {
                    assert_eq!(u64::from(place), steps % 1000);
                    own = steps;
                }
                RunAheadBudget::Ahead { lead, room } => {
                    let part = room.min(batch);
                    own += u64::from(part);
                    // Said before it is so: the walker must never find it too far.
                    at.store(own, Ordering::SeqCst);
                    leash.note(lead + part);
                }
            }
        }
    }

    #[test]
    fn a_runner_never_leads_by_more_than_the_bound() {
        const GOAL: u64 = 20_000;
        for (bound, stride, batch) in [(1, 1, 1), (7, 3, 100), (100, 10, 8), (100, 64, 100)] {
            let leash = RunAheadLimit::new(&Linux, bound);
            let at = AtomicU64::new(0);
            thread::scope(|scope| {
                scope.spawn(|| run(&leash, GOAL, batch, &at));
                let mut steps = 0u64;
                while steps < GOAL {
                    // What the walker has said so far is what the runner may have gone by.
                    let runner = at.load(Ordering::SeqCst);
                    assert!(runner <= steps + u64::from(bound), "{runner} at {steps}");
                    // Slower than the runner, now and then.
                    (0..steps % 100).for_each(|_| core::hint::spin_loop());
                    steps += stride;
                    leash.advance(steps, (steps % 1000) as u32);
                }
                leash.settle();
            });
            let most = leash.leads().map_or(0, |lead| lead.most);
            assert!(most <= bound, "{most} of {bound}");
        }
    }

    #[test]
    fn a_walker_that_stands_still_or_is_gone_is_not_waited_for() {
        let leash = RunAheadLimit::new(&Linux, 3);
        let at = AtomicU64::new(0);
        // It gives up after a second.
        run(&leash, 10, 1, &at);
        assert_eq!(at.load(Ordering::Relaxed), 3);
        thread::scope(|scope| {
            scope.spawn(|| run(&leash, 10, 1, &at));
            leash.let_go();
        });
        assert_eq!(leash.slack(0, 10), RunAheadBudget::Over);
    }

    #[test]
    fn steps_are_told_apart_beyond_32_bits() {
        let leash = RunAheadLimit::new(&Linux, 10);
        let many = (1 << 33) + 5;
        leash.advance(many, 7);
        let behind = RunAheadBudget::Behind {
            steps: many,
            place: 7,
        };
        assert_eq!(leash.slack(many - 100, many + 50), behind);
        let ahead = RunAheadBudget::Ahead { lead: 4, room: 6 };
        assert_eq!(leash.slack(many + 4, many + 50), ahead);
        assert_eq!(
            leash.slack(many + 4, many + 5),
            RunAheadBudget::Ahead { lead: 4, room: 1 }
        );
        assert_eq!(leash.slack(many - 1, many), RunAheadBudget::Over);
    }

    #[test]
    fn leads_are_counted_by_tenths() {
        let leash = RunAheadLimit::new(&Linux, 10);
        assert_eq!(leash.leads(), None);
        (1..=10).for_each(|lead| leash.note(lead));
        let expected = RunAhead {
            least: 1,
            lower: 1,
            median: 5,
            upper: 9,
            most: 10,
        };
        assert_eq!(leash.leads(), Some(expected));
    }
}
