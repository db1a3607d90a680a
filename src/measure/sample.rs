//! How long to measure and how exactly, what a sample is, what became of a set of samples, and a timing
//! as a line that `linefill compare` reads.

use core::fmt::{self, Write as _};
use core::sync::atomic::AtomicBool;

use crate::stats::{Interval, Summary};

/// Undisturbed samples that are too few to go by: not even their extremes hold the median in 95 of
/// 100 cases.
const FEW: usize = 5;

/// Of so many samples one at least must be undisturbed.
const ONE_OF: usize = 6;

/// Whether `quiet` undisturbed samples of those `taken` are too few to go by.
pub(super) fn hardly_any(quiet: usize, taken: usize) -> bool {
    quiet <= FEW || seldom(quiet, taken)
}

/// Whether the thread was alone so seldom that samples which seem undisturbed are not: whoever is
/// there nearly all the time comes and goes between two looks as well.
pub(super) fn seldom(quiet: usize, taken: usize) -> bool {
    quiet * ONE_OF < taken
}

/// How many times as long the disturbed samples took as the undisturbed ones, by their medians. `None`
/// unless there are enough of both.
#[cfg(hosted)]
pub(crate) fn slowed(samples: &[Sample]) -> Option<f64> {
    let median_of = |disturbed: bool| {
        let of = samples
            .iter()
            .filter(|sample| sample.disturbed == disturbed);
        let mut values: alloc::vec::Vec<f64> = of.map(|sample| sample.value(1)).collect();
        values.sort_by(f64::total_cmp);
        let enough = !hardly_any(values.len(), samples.len());
        crate::stats::median(&values).filter(|value| enough && *value > 0.0)
    };
    Some(median_of(true)? / median_of(false)?)
}

/// One sample. Its value is `(long - short) / operations` ticks per operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Ticks of N operations ([`steady`](super::steady)), or of the empty stretch
    /// ([`one_shot`](super::one_shot)).
    pub short: u64,
    /// Ticks of 2N operations, or of the one operation.
    pub long: u64,
    /// Ticks that [`yardstick::CYCLES`](crate::time::yardstick::CYCLES) core cycles took beside it.
    pub yardstick: u64,
    /// Whether something took the CPU away meanwhile, or a share of it, as far as the [`Monitor`]
    /// could see.
    pub disturbed: bool,
}

impl Sample {
    /// Ticks per operation, if the longer stretch is longer by `operations` operations.
    pub fn value(&self, operations: u64) -> f64 {
        (self.long as f64 - self.short as f64) / operations as f64
    }
}

/// Says whether the thread was left alone. The operating system knows; bare metal need not ask.
pub trait Monitor {
    /// A state that changes when the thread is preempted, moved to another CPU, or shares its core.
    fn state(&mut self) -> u64;

    /// Whether the state says anything. Provided: it does.
    fn watches(&self) -> bool {
        true
    }
}

/// Watches nothing: no sample is left out, and [`Outcome::disturbed`] is `None`. With the feature `std`
/// there is a monitor that watches: `bench::DisturbanceMonitor`.
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

/// Why sampling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The interval of the median became as narrow as the plan asks.
    Precise,
    /// The budget was spent first: the number is as good as it got, and says so.
    Budget,
    /// The caller's buffer was full first.
    Full,
    /// Somebody asked to stop.
    Stopped,
}

/// What a measurement came to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Samples taken; they lie at the front of the caller's buffer.
    pub taken: usize,
    /// Operations by which the longer stretch of each sample exceeds the shorter.
    pub operations: u64,
    /// Ticks per operation, over the undisturbed samples (over all, if too few were undisturbed).
    pub ticks: Summary,
    /// Core cycles per tick while the samples were taken; `None` if the yardstick gave nothing.
    pub core_per_tick: Option<f64>,
    /// How many samples were disturbed, as far as the [`Monitor`] could see; `None` if nobody watched.
    pub disturbed: Option<usize>,
    /// Why sampling ended.
    pub ended: Ended,
    /// What the kernel returned last: the checksum of its work.
    pub checksum: u64,
}

impl Outcome {
    /// What the first `taken` samples in `buffers` come to; `None` if there are none.
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

    /// Core cycles per operation; `None` if the yardstick gave nothing.
    ///
    /// Ticks are converted by the median of [`core_per_tick`](Self::core_per_tick), so the interval is
    /// that of the ticks.
    pub fn core_cycles(&self) -> Option<Summary> {
        self.core_per_tick.map(|ratio| self.ticks.scaled(ratio))
    }

    /// Whether disturbed samples had to do, because hardly any other was taken.
    pub fn restless(&self) -> bool {
        self.ticks.n > self.taken - self.disturbed.unwrap_or(0)
    }
}

/// Where samples go: the caller's memory, because measuring allocates nothing.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// The samples in the order in which they were taken. Its length is the most that are taken.
    pub samples: &'a mut [Sample],
    /// As many numbers as there are samples, for sorting.
    pub scratch: &'a mut [f64],
}

impl Buffers<'_> {
    /// The most samples that fit.
    pub(super) fn room(&self) -> usize {
        self.samples.len().min(self.scratch.len())
    }

    /// How many of the first `taken` samples were not disturbed.
    pub(super) fn quiet(&self, taken: usize) -> usize {
        let samples = &self.samples[..taken];
        samples.iter().filter(|sample| !sample.disturbed).count()
    }

    /// Summarises the first `taken` samples, the disturbed ones left out unless [hardly
    /// any](hardly_any) would be left.
    pub(super) fn summary(&mut self, taken: usize, operations: u64) -> Option<Summary> {
        let all = hardly_any(self.quiet(taken), taken);
        let samples = &self.samples[..taken];
        let kept = samples
            .iter()
            .filter(|sample| all || !sample.disturbed)
            .map(|sample| sample.value(operations));
        summary_of(kept, self.scratch)
    }

    /// The median ratio of core cycles to ticks beside the first `taken` samples.
    pub(super) fn core_per_tick(&mut self, taken: usize) -> Option<f64> {
        let ratios = self.samples[..taken]
            .iter()
            .filter(|sample| sample.yardstick > 0)
            .map(|sample| crate::time::yardstick::CYCLES as f64 / sample.yardstick as f64);
        summary_of(ratios, self.scratch).map(|summary| summary.median)
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

/// What a function takes, as a line of kind `function` (docs/FORMAT.md): print one per function, keep the
/// output, and `linefill compare OLD NEW --fail-if 'NAME > 1.05'` holds a later one against it.
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
    /// The name, by which it is found again.
    pub name: &'a str,
    /// The 95 % interval per operation, in nanoseconds.
    pub nanoseconds: Interval,
    /// The same in core cycles, if they are known. Where both lines have them, they are compared.
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
            let samples: Vec<Sample> = (0..40).map(|index| sample(index < disturbed)).collect();
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
        assert!(
            !enough
                .iter()
                .any(|&(quiet, taken)| hardly_any(quiet, taken))
        );
    }
}
