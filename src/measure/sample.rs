//! The plan of a measurement, its samples and their summary, and a timing as a line that `linefill
//! compare` reads.

use core::cell::Cell;
use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::stats::{Interval, Summary};
use crate::time::yardstick;

/// A number of undisturbed samples that is too small: even their extremes contain the median in fewer
/// than 95 of 100 cases.
const FEW: usize = 5;

/// At least one in this many samples must be undisturbed.
const ONE_OF: usize = 6;

/// Whether `quiet` undisturbed samples out of `taken` are too few.
pub(super) fn hardly_any(quiet: usize, taken: usize) -> bool {
    quiet <= FEW || seldom(quiet, taken)
}

/// Whether the core was shared so often that seemingly undisturbed samples are not: a user that is
/// nearly always there also comes and goes between two checks.
pub(super) fn seldom(quiet: usize, taken: usize) -> bool {
    quiet * ONE_OF < taken
}

/// Returns the time of the disturbed samples over that of the undisturbed ones, by their medians.
/// Returns `None` unless there are enough of both.
#[cfg(hosted)]
pub(crate) fn slowed(samples: &[Sample]) -> Option<f64> {
    let median_of = |disturbed: bool| {
        let of = samples.iter().filter(|sample| sample.disturbed == disturbed);
        let enough = !hardly_any(of.clone().count(), samples.len());
        let median = crate::stats::median_of(of.map(|sample| sample.value(1)));
        median.filter(|value| enough && *value > 0.0)
    };
    Some(median_of(true)? / median_of(false)?)
}

/// A sample. Its value is `(long - short) / operations` ticks per operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Ticks of N operations ([`steady`](super::steady)), or of an empty stretch
    /// ([`one_shot`](super::one_shot)).
    pub short: u64,
    /// Ticks of 2N operations, or of the single operation.
    pub long: u64,
    /// Ticks of [`yardstick::CYCLES`](crate::time::yardstick::CYCLES) core cycles next to the sample.
    pub yardstick: u64,
    /// Whether something took the CPU or a share of it meanwhile, as far as the [`Monitor`] could see.
    pub disturbed: bool,
}

impl Sample {
    /// Returns ticks per operation, if the longer stretch has `operations` more operations.
    pub fn value(&self, operations: u64) -> f64 {
        (self.long as f64 - self.short as f64) / operations as f64
    }
}

/// Observes whether the thread is disturbed. The operating system knows; bare metal has nothing to ask.
pub trait Monitor {
    /// Returns a state that changes when the thread is preempted, moved to another CPU, or shares its
    /// core.
    fn state(&mut self) -> u64;

    /// Whether the state carries information. By default true.
    fn watches(&self) -> bool {
        true
    }
}

/// A monitor that watches nothing: no sample is left out, and [`Outcome::disturbed`] is `None`. With the
/// feature `std`, `bench::DisturbanceMonitor` is a monitor that watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMonitor;

impl Monitor for NoMonitor {
    fn state(&mut self) -> u64 {
        0
    }

    fn watches(&self) -> bool {
        false
    }
}

/// A monitor whose state is a number of disturbances that the caller counts.
pub(crate) struct Counted<'c>(pub &'c Cell<u64>);

impl Monitor for Counted<'_> {
    fn state(&mut self) -> u64 {
        self.0.get()
    }
}

/// Why sampling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The interval of the median became as narrow as the plan asks.
    Precise,
    /// The budget was spent before the precision was reached.
    Budget,
    /// The caller's buffer was full before the precision was reached.
    Full,
    /// The stop flag of the plan was set.
    Stopped,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of samples taken, which lie at the front of the caller's buffer.
    pub taken: usize,
    /// Operations by which the longer stretch of each sample exceeds the shorter.
    pub operations: u64,
    /// Ticks per operation, over the undisturbed samples, or over all samples if too few were
    /// undisturbed.
    pub ticks: Summary,
    /// Core cycles per tick while the samples were taken; `None` if the yardstick gave no value.
    pub core_per_tick: Option<f64>,
    /// The number of disturbed samples, as far as the [`Monitor`] could see; `None` without a monitor
    /// that watches.
    pub disturbed: Option<usize>,
    /// Why sampling ended.
    pub ended: Ended,
    /// The last checksum that the kernel returned.
    pub checksum: u64,
}

impl Outcome {
    /// Summarises the first `taken` samples in `buffers`. Returns `None` if there are none.
    pub(super) fn of(
        buffers: &mut Buffers<'_>,
        taken: usize,
        operations: u64,
        watch: &dyn Monitor,
        ended: Ended,
        checksum: u64,
    ) -> Option<Self> {
        Some(Outcome {
            taken,
            operations,
            ticks: buffers.summary(taken, operations)?,
            core_per_tick: buffers.core_per_tick(taken),
            disturbed: watch.watches().then(|| taken - buffers.quiet(taken)),
            ended,
            checksum,
        })
    }

    /// Returns core cycles per operation, or `None` if the yardstick gave no value.
    ///
    /// Ticks are converted by the median [`core_per_tick`](Self::core_per_tick), so the interval is that
    /// of the ticks.
    pub fn core_cycles(&self) -> Option<Summary> {
        self.core_per_tick.map(|ratio| self.ticks.scaled(ratio))
    }

    /// Whether disturbed samples were used, because hardly any other was taken.
    pub fn restless(&self) -> bool {
        self.ticks.n > self.taken - self.disturbed.unwrap_or(0)
    }
}

/// The memory for samples, lent by the caller because measuring does not allocate.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// The samples in the order in which they are taken. Its length is the largest number of samples.
    pub samples: &'a mut [Sample],
    /// As many numbers as there are samples, for sorting.
    pub scratch: &'a mut [f64],
}

impl Buffers<'_> {
    /// Returns the largest number of samples that fit.
    pub(super) fn room(&self) -> usize {
        self.samples.len().min(self.scratch.len())
    }

    /// Returns how many of the first `taken` samples were not disturbed.
    pub(super) fn quiet(&self, taken: usize) -> usize {
        self.samples[..taken].iter().filter(|sample| !sample.disturbed).count()
    }

    /// Summarises the first `taken` samples. Leaves out the disturbed samples unless [hardly
    /// any](hardly_any) would be left.
    pub(super) fn summary(&mut self, taken: usize, operations: u64) -> Option<Summary> {
        let all = hardly_any(self.quiet(taken), taken);
        let kept = self.samples[..taken].iter().filter(|sample| all || !sample.disturbed);
        summary_of(kept.map(|sample| sample.value(operations)), self.scratch)
    }

    /// Returns the median ratio of core cycles to ticks over the first `taken` samples. `None` if no clock has
    /// this ratio: an emulator that was stopped meanwhile gives any number.
    pub(super) fn core_per_tick(&mut self, taken: usize) -> Option<f64> {
        let known = self.samples[..taken].iter().filter(|sample| sample.yardstick > 0);
        let ratios = known.map(|sample| yardstick::CYCLES as f64 / sample.yardstick as f64);
        let ratio = summary_of(ratios, self.scratch)?.median;
        yardstick::RATIOS.contains(&ratio).then_some(ratio)
    }
}

pub(super) fn summary_of(
    values: impl Iterator<Item = f64>,
    scratch: &mut [f64],
) -> Option<Summary> {
    let mut count = 0;
    for (slot, value) in scratch.iter_mut().zip(values) {
        *slot = value;
        count += 1;
    }
    Summary::of(&mut scratch[..count])
}

/// When sampling starts, how long a sample is, and when sampling stops. Times are in TSC ticks.
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
    /// Operations run before the first sample, to bring caches and predictors to their steady state:
    /// usually one lap of the working set.
    pub warm_up: u64,
    /// Ticks after which the warm-up ends even if operations are left.
    pub warm_up_ticks: u64,
    /// Whether the warm-up is repeated until two in a row take equally long: a working set that hardly
    /// fits a shared cache settles in the cache, or outside, after several laps.
    pub until_steady: bool,
    /// Ticks that the shorter stretch of a sample should last: well above the cost of the fences, well
    /// below the period of the timer interrupt.
    pub sample_ticks: u64,
    /// The least number of samples, even if the first few agree.
    pub least: usize,
    /// The half width of the 95 % interval, as a fraction of the median, at which sampling stops.
    pub precision: f64,
    /// Ticks after which sampling ends, precise or not; doubled until the least number of samples is
    /// reached.
    pub budget_ticks: u64,
    /// Ends the measurement before the next sample once it is set.
    pub stop: Option<&'a AtomicBool>,
}

impl Plan<'_> {
    /// Returns a plan for a counter of `hz` ticks per second: samples of 20 us, at least 15, to 1 %, for
    /// at most `budget` seconds after a warm-up of at most as long.
    pub fn of_seconds(hz: f64, budget: f64) -> Self {
        let ticks = |seconds: f64| (seconds * hz) as u64;
        Plan::of_ticks(ticks(20e-6), ticks(budget))
    }

    /// Returns a plan of samples of `sample` ticks, at least 15, to 1 %, for at most `budget` ticks
    /// after a warm-up of at most as long.
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

    /// Sets the number of operations before the first sample: usually one lap of the working set.
    pub fn warm_up(self, operations: u64) -> Self {
        Plan { warm_up: operations, ..self }
    }

    /// Whether the stop flag is set.
    pub(super) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// The time of a function, as a line of kind `function` (docs/FORMAT.md). Print one line per function
/// and keep the output; `linefill compare OLD NEW --fail-if 'NAME > 1.05'` compares a later run with it.
///
/// ```
/// use linefill::measure::FunctionLine;
/// use linefill::stats::Interval;
///
/// let nanoseconds = Interval::new(2.5, 2.75);
/// let line = FunctionLine { name: "parse/64", nanoseconds, cycles: None };
/// let expected = r#"{"kind":"function","name":"parse/64","nanoseconds":[2.5,2.625,2.75]}"#;
/// assert_eq!(line.to_string(), expected);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionLine<'a> {
    /// The name, which identifies the function in later runs.
    pub name: &'a str,
    /// The 95 % interval per operation, in nanoseconds.
    pub nanoseconds: Interval,
    /// The interval in core cycles, if known. Compared where both lines have it.
    pub cycles: Option<Interval>,
}

impl fmt::Display for FunctionLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"{"kind":"function","name":""#)?;
        for letter in self.name.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                '\0'..=' ' if letter != ' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
                letter => f.write_char(letter)?,
            }
        }
        let interval = |f: &mut fmt::Formatter<'_>, name, of: Interval| {
            write!(f, r#","{name}":[{},{},{}]"#, of.lo, of.middle(), of.hi)
        };
        f.write_char('"')?;
        interval(f, "nanoseconds", self.nanoseconds)?;
        if let Some(cycles) = self.cycles {
            interval(f, "cycles", cycles)?;
        }
        f.write_char('}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(hosted)]
    #[test]
    fn what_disturbs_shows_in_samples_of_both_kinds() {
        let sample = |disturbed: bool| Sample {
            short: 100,
            long: if disturbed { 250 } else { 200 },
            disturbed,
            ..Sample::default()
        };
        let of = |disturbed: usize| {
            let samples: [Sample; 40] = core::array::from_fn(|index| sample(index < disturbed));
            slowed(&samples)
        };
        assert_eq!(of(20), Some(1.5));
        for few in [0, FEW, 40 - FEW, 40] {
            assert_eq!(of(few), None, "{few} of 40");
        }
    }

    #[test]
    fn too_few_are_a_handful_or_a_small_share() {
        let few = [(0, 0), (5, 5), (5, 20), (16, 100)];
        assert!(few.iter().all(|&(quiet, taken)| hardly_any(quiet, taken)));
        let enough = [(6, 6), (6, 36), (17, 100), (400, 400)];
        assert!(!enough.iter().any(|&(quiet, taken)| hardly_any(quiet, taken)));
    }

    #[test]
    fn a_ratio_that_no_clock_has_is_none() {
        let ratio = |yardstick| {
            let mut samples = [Sample { short: 1, long: 2, yardstick, disturbed: false }];
            let mut buffers = Buffers { samples: &mut samples, scratch: &mut [0.0] };
            buffers.core_per_tick(1)
        };
        let usual = yardstick::CYCLES;
        assert_eq!(ratio(usual), Some(1.0));
        assert_eq!(ratio(10_000 * usual), None);
        assert_eq!(ratio(0), None);
    }
}
