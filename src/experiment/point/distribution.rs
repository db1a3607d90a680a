//! The distribution of single runs of a case, each timed separately.

use crate::experiment::{Testable, Unit, Untestable};
use crate::pattern::common_divisor;
use crate::prelude::*;
use crate::stats::Interval;
use crate::time::Rate;

/// The number of runs that are timed separately where a case asks for it.
pub const RUNS: usize = 10_000;

/// The ticks of single runs, without averaging or exclusion. The cost of an empty stretch is subtracted
/// from each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct Distribution {
    /// The number of runs.
    pub count: u64,
    /// Operations per run.
    pub operations: u64,
    /// The shortest run.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The ticks that 90 of 100 runs do not exceed.
    pub p90: u64,
    /// The ticks that 99 of 100 runs do not exceed.
    pub p99: u64,
    /// The ticks that 999 of 1000 runs do not exceed.
    #[cfg_attr(feature = "record", serde(rename = "p99.9"))]
    pub p999: u64,
    /// The longest run.
    pub max: u64,
}

variants! {
    /// A place in a distribution.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Percentile {
        /// The median.
        P50 = "p50",
        /// The value that 90 of 100 runs do not exceed.
        P90 = "p90",
        /// The value that 99 of 100 runs do not exceed.
        P99 = "p99",
        /// The value that 999 of 1000 runs do not exceed.
        P999 = "p99.9",
        /// The longest run.
        Max = "max",
    }
}

impl Distribution {
    /// Returns the distribution of runs of `operations` operations that took these ticks. Sorts `ticks`.
    /// Returns `None` if `ticks` is empty.
    pub fn of(ticks: &mut [u64], operations: u64) -> Option<Self> {
        ticks.sort_unstable();
        let last = ticks.len().checked_sub(1)?;
        // The smallest value that this share of all runs does not exceed.
        let at = |permille: usize| {
            let rank = (ticks.len() * permille).div_ceil(1000);
            ticks[rank.saturating_sub(1).min(last)]
        };
        Some(Distribution {
            count: ticks.len() as u64,
            operations,
            min: ticks[0],
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: ticks[last],
        })
    }

    /// Returns the ticks per run at this percentile.
    pub fn at(&self, place: Percentile) -> u64 {
        match place {
            Percentile::P50 => self.p50,
            Percentile::P90 => self.p90,
            Percentile::P99 => self.p99,
            Percentile::P999 => self.p999,
            Percentile::Max => self.max,
        }
    }
}

/// Returns the reason why there is no distribution of single runs.
pub(in crate::experiment) fn not_run_by_run() -> Untestable {
    Untestable("no run was timed by itself".to_owned())
}

/// Returns the step of the time-stamp counter in ticks: the largest that divides the ticks of all runs. Some
/// CPUs count one tick at a time, a Zen 4 counts 26.
pub(in crate::experiment) fn step(passes: &[Distribution]) -> u64 {
    let divisor = |a: u64, b: u64| common_divisor(a as usize, b as usize) as u64;
    let of = |pass: &Distribution| {
        let places = Percentile::ALL.map(|place| pass.at(place));
        places.into_iter().fold(pass.min, divisor)
    };
    passes.iter().map(of).fold(0, divisor).max(1)
}

/// Returns what `behind` makes of this percentile of the distributions of all passes, per run, if each is right
/// within `step` ticks. No run takes less than a tick. `core_per_tick` is in core cycles per tick.
///
/// # Errors
/// If single runs were not timed, or `unit` is not nanoseconds or core cycles.
pub(in crate::experiment) fn percentile(
    passes: &[Distribution],
    place: Percentile,
    step: u64,
    unit: Unit,
    rate: Rate,
    core_per_tick: Option<f64>,
    behind: impl Fn(&[Interval]) -> Option<Interval>,
) -> Testable<Interval> {
    let factor = match unit {
        Unit::Nanoseconds => Some(1e9 / rate.hz()),
        Unit::CoreCycles => core_per_tick,
        _ => None,
    };
    let factor = factor
        .ok_or_else(|| Untestable(format!("a single run has no value in {}", unit.label())))?;
    let ticks = |pass: &Distribution| Interval::exact(pass.at(place) as f64);
    let ticks: Vec<Interval> = passes.iter().map(ticks).collect();
    let value = behind(&ticks).ok_or_else(not_run_by_run)?;
    let least = (value.lo - step as f64).max(step.min(1) as f64);
    Ok(Interval::new(least, value.hi + step as f64).scaled(factor))
}

/// Formats the distributions of all passes in core cycles, or in nanoseconds without a core clock: `p50
/// 100, p90 100, p99 102, p99.9 110, max 5120 core cycles (10000 runs)`. Returns `None` if no run was
/// timed separately.
pub fn in_words(passes: &[Distribution], rate: Rate, core_per_tick: Option<f64>) -> Option<String> {
    let (unit, name) = match core_per_tick {
        Some(_) => (Unit::CoreCycles, "core cycles"),
        None => (Unit::Nanoseconds, "ns"),
    };
    let place = |place: Percentile| {
        let all = Interval::hull_of;
        let value = percentile(passes, place, 0, unit, rate, core_per_tick, all).ok()?;
        Some(format!("{} {:.0}", place.name(), value.middle()))
    };
    let places: Option<Vec<String>> = Percentile::ALL.into_iter().map(place).collect();
    let runs: u64 = passes.iter().map(|pass| pass.count).sum();
    Some(format!("{} {name} ({runs} runs)", places?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks_of_the_sorted_runs() {
        let mut ticks: Vec<u64> = (1..=1000).rev().collect();
        let of = Distribution::of(&mut ticks, 100).unwrap();
        let places = Percentile::ALL.map(|place| of.at(place));
        assert_eq!((of.count, of.operations, of.min), (1000, 100, 1));
        assert_eq!(places, [500, 900, 990, 999, 1000]);
        assert_eq!(Distribution::of(&mut [], 1), None);
        let one = Distribution::of(&mut [7], 1).unwrap();
        assert_eq!(Percentile::ALL.map(|place| one.at(place)), [7; 5]);
    }

    #[test]
    fn passes_are_held_by_one_interval_in_the_unit_asked_for() {
        let pass = |ticks| Distribution::of(&mut [ticks], 1).unwrap();
        let passes = [pass(100), pass(110)];
        let rate = Rate::from_hz(2e9);
        let all = Interval::hull_of;
        let of = |unit, ratio| percentile(&passes, Percentile::P99, 0, unit, rate, ratio, all);
        let cycles = of(Unit::CoreCycles, Some(1.5)).unwrap();
        assert_eq!((cycles.lo, cycles.hi), (150.0, 165.0));
        let nanos = of(Unit::Nanoseconds, None).unwrap();
        assert_eq!((nanos.lo, nanos.hi), (50.0, 55.0));
        assert!(of(Unit::CoreCycles, None).is_err());
        let none = percentile(&[], Percentile::P50, 0, Unit::Nanoseconds, rate, None, all);
        assert!(none.is_err());
    }

    #[test]
    fn a_percentile_is_right_within_a_step_of_the_counter() {
        let pass = |ticks: &mut [u64]| Distribution::of(ticks, 1).unwrap();
        let coarse = [pass(&mut [0, 26, 26]), pass(&mut [26, 78, 234])];
        assert_eq!(step(&coarse), 26);
        assert_eq!(step(&[pass(&mut [70, 76, 81])]), 1);
        assert_eq!(step(&[pass(&mut [0])]), 1);
        let of = |passes: &[Distribution], place| {
            let rate = Rate::from_hz(1e9);
            let (step, unit) = (step(passes), Unit::Nanoseconds);
            let within = percentile(passes, place, step, unit, rate, None, Interval::hull_of);
            within.map(|of| (of.lo, of.hi)).unwrap()
        };
        assert_eq!(of(&coarse[1..], Percentile::P50), (52.0, 104.0));
        assert_eq!(of(&coarse[..1], Percentile::P50), (1.0, 52.0));
    }

    #[test]
    fn in_words_it_names_each_percentile_and_the_runs() {
        let passes = [Distribution::of(&mut [100, 100, 102, 5000], 1).unwrap()];
        assert_eq!(
            in_words(&passes, Rate::from_hz(1e9), Some(1.0)).unwrap(),
            "p50 100, p90 5000, p99 5000, p99.9 5000, max 5000 core cycles (4 runs)"
        );
    }
}
