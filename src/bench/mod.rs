//! Timing of your own code by the lab's methods: one value, created in one line (feature `std`).
//!
//! A [`Bench`] keeps the thread on a quiet CPU, knows the rate of the time-stamp counter and watches for
//! disturbances. It times code in its steady state ([`steady_fn`](Bench::steady_fn)), call by call after
//! a preparation ([`one_shot_fn`](Bench::one_shot_fn)), and against other code
//! ([`compare_fn`](Bench::compare_fn)). [`flush`] and [`Cold`] prepare cold caches, TLBs and branch
//! predictors. A [`Budget`] is for tests.
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
    Buffers, Monitor, Paired, Plan, Sample, Shot, distribution, in_turn, one_shot, steady,
};
use crate::os::{Memory, MemoryError, Pages, Pinned, Root, Switches, calibrate, pin_to_measure};
use crate::stats::Histogram;
use crate::time::{Rate, RateError, SmtContention, start};

pub use budget::{Budget, assert_cycles_at_most};
pub use evict::{Cold, ColdError, flush};
pub use timing::{Comparison, Shots, Timing};

/// The largest number of samples per measurement.
const MOST_SAMPLES: usize = 1000;

/// The default time after which sampling ends.
const BUDGET: Duration = Duration::from_millis(100);

/// The warm-up takes the budget divided by this, or [`LONGEST_WARM_UP`] if that is less.
const WARM_UP: u32 = 5;

/// Long enough for any cache and predictor: a warm-up is all repetition, so that more of it says nothing.
const LONGEST_WARM_UP: Duration = Duration::from_millis(50);

/// Shots per distribution: enough for a p99.9.
const MOST_SHOTS: u64 = 10_000;

/// A timer for your own code, bound to the thread that created it. It restores the thread's CPU mask
/// when dropped.
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
    /// The samples of each of two kernels, and room to sort them.
    buffers: [(Vec<Sample>, Vec<f64>); 2],
}

impl Bench {
    /// Pins the thread to the CPU least likely to be disturbed, calibrates the counter there (a quarter
    /// of a second), and measures the throughput of an undisturbed core. Where pinning is refused, the
    /// thread is not pinned, and [`notes`](Self::notes) reports it.
    ///
    /// # Errors
    /// If the time-stamp counter or the system's clock does not advance.
    pub fn new() -> Result<Self, RateError> {
        let pinned = pin_to_measure(&Root::live());
        Self::on(pinned)
    }

    /// Like [`new`](Self::new), on the CPU of a guard from [`pin`](crate::os::pin).
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn on_pinned(pinned: Pinned) -> Result<Self, RateError> {
        Self::on(Ok(pinned))
    }

    fn on(pinned: Result<Pinned, String>) -> Result<Self, RateError> {
        let rate = calibrate()?;
        let buffers = || (vec![Sample::default(); MOST_SAMPLES], vec![0.0; MOST_SAMPLES]);
        let bench = Bench {
            rate,
            pinned,
            monitor: DisturbanceMonitor::here(),
            plan: Plan::of_seconds(rate.hz(), 0.0),
            buffers: [buffers(), buffers()],
        };
        Ok(bench.with_budget(BUDGET))
    }

    /// Sets the time after which sampling ends (default 100 ms), doubled until there are 15 samples. A
    /// sample that has begun is finished. Sampling ends earlier when the half width of the 95 % interval is
    /// 1 % of the median, or after 1000 samples; [`Outcome::ended`](crate::measure::Outcome::ended) says
    /// which.
    ///
    /// Before sampling come seven or more runs that find the number of operations per sample, and a warm-up
    /// of a fifth of the budget, at most 50 ms. The single shots of [`one_shot`](Self::one_shot) take up to
    /// the budget once more. A measurement of a long operation therefore takes longer than the budget: of
    /// 10 ms about 0.3 s.
    pub fn with_budget(mut self, budget: Duration) -> Self {
        let ticks = |time: Duration| self.rate.ticks(time.as_nanos() as f64);
        self.plan.budget_ticks = ticks(budget);
        self.plan.warm_up_ticks = ticks((budget / WARM_UP).min(LONGEST_WARM_UP));
        // The ticks end the warm-up, whatever the working set is.
        self.plan.warm_up = u64::MAX;
        self
    }

    /// Returns the rate of the time-stamp counter.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the CPU to which the thread is pinned, or `None` if it could not be pinned.
    pub fn cpu(&self) -> Option<usize> {
        self.pinned.as_ref().ok().map(Pinned::cpu)
    }

    /// Returns one sentence per facility that is missing here. Empty on most machines.
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

    /// Returns memory of `bytes` bytes in `pages`, populated by this thread and therefore near its CPU.
    ///
    /// # Errors
    /// As for [`Memory::new`]: too many bytes, or pages that the system does not have.
    pub fn memory(&self, bytes: usize, pages: Pages) -> Result<Memory, MemoryError> {
        Memory::new(bytes, pages)
    }

    /// Times `kernel` in its steady state: 2N operations less N, so that costs that occur once cancel.
    pub fn steady(&mut self, kernel: &mut dyn Kernel) -> Timing {
        let outcome = steady(kernel, &self.plan, &mut self.monitor, lent(&mut self.buffers[0]));
        // The buffers have room, and nothing can stop the measurement.
        Timing { outcome: outcome.expect("a sample at least"), rate: self.rate }
    }

    /// Like [`steady`](Self::steady), for code that does as many operations as its argument says. The
    /// optimiser cannot remove the returned value; pass constant inputs through [`black_box`].
    pub fn steady_fn<R>(&mut self, work: impl FnMut(u64) -> R) -> Timing {
        self.steady(&mut Repeated(work))
    }

    /// Times an operation that can be done only once per preparation, and each single operation.
    pub fn one_shot(&mut self, shot: &mut dyn Shot) -> Shots {
        let outcome = one_shot(shot, &self.plan, &mut self.monitor, lent(&mut self.buffers[0]));
        let timing = Timing { outcome: outcome.expect("a sample at least"), rate: self.rate };
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

    /// Like [`one_shot`](Self::one_shot), for code that runs after `prepare`:
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
    /// If both closures need the same value mutably, implement [`Shot`] and call
    /// [`one_shot`](Self::one_shot).
    pub fn one_shot_fn<R>(&mut self, prepare: impl FnMut(), work: impl FnMut() -> R) -> Shots {
        self.one_shot(&mut Prepared { prepare, work })
    }

    /// Times two kernels interleaved, a sample of one next to a sample of the other, until the ratio is
    /// precise. A change of the core's clock and a neighbour's noise affect both.
    pub fn compare(&mut self, first: &mut dyn Kernel, second: &mut dyn Kernel) -> Comparison {
        let buffers = self.buffers.each_mut().map(lent);
        let paired = in_turn([first, second], &self.plan, &mut self.monitor, buffers);
        let Paired { outcomes, ratio } = paired.expect("a sample at least");
        let [first, second] = outcomes.map(|outcome| Timing { outcome, rate: self.rate });
        Comparison { first, second, ratio }
    }

    /// Like [`compare`](Self::compare), for code that does as many operations as its argument says.
    pub fn compare_fn<A, B>(
        &mut self,
        first: impl FnMut(u64) -> A,
        second: impl FnMut(u64) -> B,
    ) -> Comparison {
        self.compare(&mut Repeated(first), &mut Repeated(second))
    }
}

fn lent((samples, scratch): &mut (Vec<Sample>, Vec<f64>)) -> Buffers<'_> {
    Buffers { samples, scratch }
}

/// Code that does as many operations as its argument says.
struct Repeated<F>(F);

impl<R, F: FnMut(u64) -> R> Kernel for Repeated<F> {
    fn run(&mut self, operations: u64) -> u64 {
        black_box((self.0)(operations));
        operations
    }
}

/// Code and its preparation.
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

/// Checks of a few milliseconds in all; in some of them the thread has the core to itself, if it ever
/// has.
const LOOKS: usize = 1000;

/// A monitor of the thread's context switches, its CPU, and other users of the core.
///
/// A check takes a system call and some microseconds of arithmetic. Where `getrusage` is refused, no
/// switches are seen, and [`sees_switches`](Self::sees_switches) returns false.
#[derive(Debug)]
pub struct DisturbanceMonitor {
    share: SmtContention,
    /// Whether the last check saw the core shared.
    crowded: bool,
    /// Number of checks that saw the core shared, counting the check after each one too.
    crowds: u64,
}

impl DisturbanceMonitor {
    /// Returns a monitor of the calling thread on its current CPU; pin the thread first. Takes some
    /// milliseconds.
    pub fn here() -> Self {
        DisturbanceMonitor { share: SmtContention::after(LOOKS), crowded: false, crowds: 0 }
    }

    /// Whether the kernel reports the thread's context switches.
    pub fn sees_switches() -> bool {
        Switches::now().voluntary.is_some()
    }

    /// Counts a check. A user of the core seen before or after a sample was there during the sample.
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
        // Switches and shared checks only increase, so a change of any part changes the whole.
        // Unreported switches change nothing; a session's notes mention this.
        let switches = now.voluntary.unwrap_or(0) + now.involuntary.unwrap_or(0);
        (switches + self.looked(crowded)) << 16 | cpu & 0xFFFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_is_a_fifth_of_the_budget_or_50_ms() {
        let mut bench = Bench::new().unwrap();
        for (budget, warm_up) in [
            (Duration::from_millis(100), Duration::from_millis(20)),
            (Duration::from_secs(10), LONGEST_WARM_UP),
            (Duration::MAX, LONGEST_WARM_UP),
        ] {
            bench = bench.with_budget(budget);
            let ticks = bench.rate.ticks(warm_up.as_nanos() as f64);
            assert_eq!(bench.plan.warm_up_ticks, ticks, "{budget:?}");
        }
    }

    /// Of two checks around each sample, one that sees the core shared changes the state between them. A
    /// check before or after both does not.
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
