//! Timing of your own code with what the lab has: one value, made in one line (feature `std`).
//!
//! A [`Bench`] holds the thread on a quiet CPU, knows the rate of the time-stamp counter and watches
//! for disturbances. It times code in its steady state ([`steady_fn`](Bench::steady_fn)), call by call
//! after a preparation ([`one_shot_fn`](Bench::one_shot_fn)), and against other code
//! ([`compare_fn`](Bench::compare_fn)). [`flush`] and [`Cold`] prepare cold caches, TLBs and branch
//! predictors; a [`Budget`] is for tests.
//!
//! ```
//! use linefill::bench::Bench;
//!
//! let mut bench = Bench::new()?;
//! let mut x = 3_u64;
//! let division = bench.steady_fn(|n| {
//!     for _ in 0..n {
//!         x = u64::MAX / (x | 1);
//!     }
//!     x
//! });
//! // 8.02 [8.01, 8.04] core cycles, 2.05 [2.05, 2.06] ns; 1 of 15 samples disturbed
//! println!("{division}");
//! # Ok::<(), linefill::time::RateError>(())
//! ```

mod budget;
mod evict;
mod timing;

use core::hint::black_box;
use core::time::Duration;

use crate::kernel::Kernel;
use crate::measure::{
    Buffers, Monitor, Plan, Sample, Shot, distribution, in_turn, one_shot, steady,
};
use crate::os::{Memory, MemoryError, Pages, Pinned, Root, Switches, calibrate, pin_to_measure};
use crate::stats::Histogram;
use crate::time::{Rate, RateError, SmtContention, start};

pub use budget::{Budget, assert_cycles_at_most};
pub use evict::{Cold, ColdError, flush};
pub use timing::{Comparison, Shots, Timing};

/// The most samples of a measurement.
const MOST_SAMPLES: usize = 1000;

/// How long a measurement takes at most, if nobody says.
const BUDGET: Duration = Duration::from_millis(100);

/// The share of the budget that a warm-up takes.
const WARM_UP: u32 = 5;

/// Shots of a distribution: enough for a p99.9.
const MOST_SHOTS: u64 = 10_000;

/// Measures code of your own on the thread that made it. Stays on its thread, and gives the thread its
/// CPU mask back when dropped.
///
/// ```
/// use linefill::bench::Bench;
/// use linefill::kernel::{Step, Walk};
/// use linefill::os::Pages;
/// use linefill::pattern::{Layout, Order, Ring};
///
/// let mut bench = Bench::new()?;
/// let mut memory = bench.memory(16 << 10, Pages::Base)?;
/// let ring = Ring::new(memory.region(), Layout::npad(7), 256, Order::Random { seed: 1 })?;
/// let step = bench.steady(&mut Walk::new(ring, Step::Follow)?);
/// println!("a step of a random walk in L1d: {step}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Bench {
    rate: Rate,
    pinned: Result<Pinned, String>,
    monitor: DisturbanceMonitor,
    plan: Plan<'static>,
    samples: [Vec<Sample>; 2],
    scratch: [Vec<f64>; 2],
}

impl Bench {
    /// Pins the thread to the CPU least likely to be disturbed, calibrates the counter there (a quarter
    /// of a second), and learns what the core gives a thread that has it to itself. Where pinning is
    /// refused the thread stays free, and [`notes`](Self::notes) says so.
    ///
    /// # Errors
    /// If the time-stamp counter or the system's clock stands still.
    pub fn new() -> Result<Self, RateError> {
        let pinned = pin_to_measure(&Root::live());
        Self::on(pinned)
    }

    /// The same on the CPU of a guard that you hold, from [`pin`](crate::os::pin).
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn on_pinned(pinned: Pinned) -> Result<Self, RateError> {
        Self::on(Ok(pinned))
    }

    fn on(pinned: Result<Pinned, String>) -> Result<Self, RateError> {
        let rate = calibrate()?;
        let buffer = || vec![Sample::default(); MOST_SAMPLES];
        let scratch = || vec![0.0; MOST_SAMPLES];
        let bench = Bench {
            rate,
            pinned,
            monitor: DisturbanceMonitor::here(),
            plan: Plan::of_seconds(rate.hz(), 0.0),
            samples: [buffer(), buffer()],
            scratch: [scratch(), scratch()],
        };
        Ok(bench.with_budget(BUDGET))
    }

    /// Measures for at most this long (100 ms if nobody says), after a warm-up of at most a fifth of
    /// it.
    pub fn with_budget(mut self, budget: Duration) -> Self {
        let ticks = self.rate.ticks(budget.as_nanos() as f64);
        self.plan.budget_ticks = ticks;
        self.plan.warm_up_ticks = ticks / u64::from(WARM_UP);
        // Whatever the working set is: the ticks end it.
        self.plan.warm_up = u64::MAX;
        self
    }

    /// Measures until the half width of the 95 % interval is this share of the median (0.01 if nobody
    /// says), or the budget is spent.
    pub fn with_precision(mut self, share: f64) -> Self {
        self.plan.precision = share;
        self
    }

    /// The rate of the time-stamp counter.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The CPU that the thread is kept on; `None` if it could not be pinned.
    pub fn cpu(&self) -> Option<usize> {
        self.pinned.as_ref().ok().map(Pinned::cpu)
    }

    /// What this bench has to do without, a sentence each: nothing on most machines.
    pub fn notes(&self) -> Vec<String> {
        let unpinned = self.pinned.as_ref().err().map(|reason| {
            format!("not pinned, so the scheduler may move the measurement: {reason}")
        });
        let blind = (!DisturbanceMonitor::sees_switches()).then(|| {
            "getrusage is refused here (by a sandbox?), so that preempted samples are not marked"
                .to_owned()
        });
        unpinned.into_iter().chain(blind).collect()
    }

    /// Memory of `bytes` bytes in `pages`, populated by this thread, and so near its CPU.
    ///
    /// # Errors
    /// As for [`Memory::new`]: too much, or pages that the system does not have.
    pub fn memory(&self, bytes: usize, pages: Pages) -> Result<Memory, MemoryError> {
        Memory::new(bytes, pages)
    }

    /// Times `kernel` in its steady state: N operations against 2N, so that what happens once leaves.
    pub fn steady(&mut self, kernel: &mut dyn Kernel) -> Timing {
        let [samples, _] = &mut self.samples;
        let [scratch, _] = &mut self.scratch;
        let buffers = Buffers { samples, scratch };
        let outcome = steady(kernel, &self.plan, &mut self.monitor, buffers);
        // There is room, and nobody can stop it.
        Timing::new(outcome.expect("a sample at least"), self.rate)
    }

    /// The same for code that does as many operations as it is told. What it returns is kept from the
    /// optimiser; hide its inputs by [`black_box`] where they are constants.
    pub fn steady_fn<R>(&mut self, work: impl FnMut(u64) -> R) -> Timing {
        self.steady(&mut Repeated(work))
    }

    /// Times an operation that can be done only once per preparation, and what each single one took.
    pub fn one_shot(&mut self, shot: &mut dyn Shot) -> Shots {
        let [samples, _] = &mut self.samples;
        let [scratch, _] = &mut self.scratch;
        let buffers = Buffers { samples, scratch };
        let outcome = one_shot(shot, &self.plan, &mut self.monitor, buffers);
        let timing = Timing::new(outcome.expect("a sample at least"), self.rate);
        let mut single = Histogram::new();
        let (began, budget) = (start(), self.plan.budget_ticks);
        let mut shots = 0;
        let mut spent = || {
            shots += 1;
            shots > 1 && start() - began > budget
        };
        distribution(shot, MOST_SHOTS, &mut single, &mut spent);
        Shots { timing, single }
    }

    /// The same for code, which finds things as `prepare` leaves them:
    ///
    /// ```
    /// use linefill::bench::{Bench, flush};
    ///
    /// let table: Vec<u64> = (0..8).collect();
    /// let cold = Bench::new()?.one_shot_fn(|| flush(&table[..]), || table[3]);
    /// println!("a lookup from memory: {cold}");
    /// # Ok::<(), linefill::time::RateError>(())
    /// ```
    ///
    /// Where both need the same thing mutably, implement [`Shot`] and call
    /// [`one_shot`](Self::one_shot).
    pub fn one_shot_fn<R>(&mut self, prepare: impl FnMut(), work: impl FnMut() -> R) -> Shots {
        self.one_shot(&mut Prepared { prepare, work })
    }

    /// Times two kernels in turn, a sample of one beside a sample of the other, until the ratio is
    /// precise. A change of the core's clock and a neighbour's noise hit both.
    pub fn compare(&mut self, first: &mut dyn Kernel, second: &mut dyn Kernel) -> Comparison {
        let mut scratch = self.scratch.iter_mut();
        let buffers = self.samples.each_mut().map(|samples| Buffers {
            samples,
            scratch: scratch.next().expect("as many"),
        });
        let paired = in_turn([first, second], &self.plan, &mut self.monitor, buffers);
        Comparison::new(paired.expect("a sample at least"), self.rate)
    }

    /// The same for code that does as many operations as it is told.
    pub fn compare_fn<A, B>(
        &mut self,
        first: impl FnMut(u64) -> A,
        second: impl FnMut(u64) -> B,
    ) -> Comparison {
        self.compare(&mut Repeated(first), &mut Repeated(second))
    }
}

/// Code that does as many operations as it is told.
struct Repeated<F>(F);

impl<R, F: FnMut(u64) -> R> Kernel for Repeated<F> {
    fn run(&mut self, operations: u64) -> u64 {
        black_box((self.0)(operations));
        operations
    }
}

/// Code and what goes before it.
struct Prepared<P, F> {
    prepare: P,
    work: F,
}

impl<R, P: FnMut(), F: FnMut() -> R> Shot for Prepared<P, F> {
    fn prepare(&mut self) {
        (self.prepare)();
    }

    fn shoot(&mut self) -> u64 {
        black_box((self.work)());
        0
    }
}

/// Looks of a few milliseconds, in some of which the thread will be alone if it ever is.
const LOOKS: usize = 1000;

/// Looks at the thread's context switches, its CPU, and who else computes on the core.
///
/// A look takes a system call and some microseconds of arithmetic. Where `getrusage` is refused, it sees
/// no switches, and [`sees_switches`](Self::sees_switches) says so.
#[derive(Debug)]
pub struct DisturbanceMonitor {
    share: SmtContention,
    /// Whether somebody else did at the last look.
    crowded: bool,
    /// Looks at which, or at the one before which, somebody did.
    crowds: u64,
}

impl DisturbanceMonitor {
    /// For the thread that calls, on the CPU that it is on: pin it first. Takes some milliseconds.
    pub fn here() -> Self {
        DisturbanceMonitor {
            share: SmtContention::after(LOOKS),
            crowded: false,
            crowds: 0,
        }
    }

    /// Whether the kernel tells of the thread's context switches.
    pub fn sees_switches() -> bool {
        Switches::now().voluntary.is_some()
    }

    /// Counts a look. Whoever was there before a sample or after it was there in it.
    fn looked(&mut self, crowded: bool) -> u64 {
        self.crowds += u64::from(crowded || self.crowded);
        self.crowded = crowded;
        self.crowds
    }
}

impl Monitor for DisturbanceMonitor {
    fn state(&mut self) -> u64 {
        let crowded = !self.share.alone();
        let now = Switches::now();
        let cpu = now.cpu.map_or(u64::MAX, |cpu| cpu as u64);
        // Switches and crowds only grow, so a change of any part changes the whole. Switches that the
        // kernel does not tell of change nothing; a session's notes say so.
        let switches = now.voluntary.unwrap_or(0) + now.involuntary.unwrap_or(0);
        (switches + self.looked(crowded)) << 16 | cpu & 0xFFFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two looks around each sample, one that sees somebody changes the state between them, and
    /// none does that comes before or after both.
    #[test]
    fn who_is_there_at_either_end_was_there() {
        let mut alone = DisturbanceMonitor::here();
        let mut disturbed = |before, after| {
            let state = alone.looked(before);
            alone.looked(after) != state
        };
        assert!(!disturbed(false, false));
        assert!(disturbed(true, false));
        assert!(!disturbed(false, false));
        assert!(disturbed(false, true));
        assert!(!disturbed(false, false));
        assert!(disturbed(true, true));
    }
}
