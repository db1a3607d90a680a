//! A sample, and what became of a set of them.

use crate::stats::Summary;

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
