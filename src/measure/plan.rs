//! How long to measure, and how exactly.

use core::sync::atomic::AtomicBool;

/// When sampling starts, how long a sample is, and when sampling stops. Times are TSC ticks.
///
/// ```
/// use linefill::measure::Plan;
/// use linefill::time::Rate;
///
/// // Where the rate of the counter is known: for 10 ms at most, after a lap of 256 steps.
/// let rate = Rate::between(460_000_000, 200_000_000)?;
/// let plan = Plan::of_seconds(rate.hz(), 0.01).warm_up(256);
/// assert_eq!((plan.sample_ticks, plan.budget_ticks), (46_000, 23_000_000));
/// // Where it is not.
/// let mut plan = Plan::of_ticks(50_000, 25_000_000);
/// plan.precision = 0.005;
/// # Ok::<(), linefill::time::RateError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Plan<'a> {
    /// Operations run before the first sample, to bring caches and predictors to their steady
    /// state: usually one lap of the working set.
    pub warm_up: u64,
    /// Ticks after which the warm-up ends even if operations are left.
    pub warm_up_ticks: u64,
    /// Whether the warm-up is repeated until two in a row take equally long: a working set that hardly
    /// fits a shared cache comes to rest in it, or beside it, after several laps.
    pub until_steady: bool,
    /// Ticks that the shorter stretch of a sample should last. Well above the cost of the fences,
    /// well below the period of the timer interrupt.
    pub sample_ticks: u64,
    /// Samples taken even if the first few already agree.
    pub least: usize,
    /// The half width of the 95 % interval of the median, as a share of it, at which to stop.
    pub precision: f64,
    /// Ticks after which sampling ends, precise or not; twice as many until there are as many samples
    /// as wanted at least.
    pub budget_ticks: u64,
    /// Ends the measurement before the next sample once it is set.
    pub stop: Option<&'a AtomicBool>,
}

impl Plan<'_> {
    /// A plan for a counter of `hz` ticks per second: samples of 20 us, at least 15, to 1 %, for at
    /// most `budget` seconds after a warm-up of at most as long.
    pub fn of_seconds(hz: f64, budget: f64) -> Self {
        let ticks = |seconds: f64| (seconds * hz) as u64;
        Plan::of_ticks(ticks(20e-6), ticks(budget))
    }

    /// A plan of samples of `sample` ticks, at least 15, to 1 %, for at most `budget` ticks after a
    /// warm-up of at most as long.
    pub const fn of_ticks(sample: u64, budget: u64) -> Self {
        Plan {
            warm_up: 0,
            until_steady: false,
            warm_up_ticks: budget,
            sample_ticks: sample,
            least: 15,
            precision: 0.01,
            budget_ticks: budget,
            stop: None,
        }
    }

    /// The same plan after this many operations without samples: usually one lap of the working set.
    pub fn warm_up(self, operations: u64) -> Self {
        Plan {
            warm_up: operations,
            ..self
        }
    }

    /// Whether somebody asked to stop.
    pub(super) fn stopped(&self) -> bool {
        self.stop
            .is_some_and(|stop| stop.load(core::sync::atomic::Ordering::Relaxed))
    }
}
