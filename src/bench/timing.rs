//! The result of a measurement, in three units.

use core::fmt;

use crate::measure::{Ended, FunctionLine, Outcome};
use crate::stats::{Histogram, Summary};
use crate::time::Rate;

/// The time of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timing {
    /// The samples, the ticks per operation, and why sampling ended.
    pub outcome: Outcome,
    /// The rate of the ticks.
    pub rate: Rate,
}

impl Timing {
    /// Returns core cycles per operation, or `None` if the yardstick gave no value.
    pub fn core_cycles(&self) -> Option<Summary> {
        self.outcome.core_cycles()
    }

    /// Returns nanoseconds per operation.
    pub fn nanos(&self) -> Summary {
        self.outcome.ticks.scaled(self.rate.nanos(1.0))
    }

    /// Returns ticks of the time-stamp counter per operation.
    pub fn ticks(&self) -> Summary {
        self.outcome.ticks
    }

    /// Returns the line under `name` that `linefill compare` reads. Print and keep it, to gate your own
    /// functions.
    pub fn line<'n>(&self, name: &'n str) -> FunctionLine<'n> {
        FunctionLine {
            name,
            nanoseconds: self.nanos().interval,
            cycles: self.core_cycles().map(|cycles| cycles.interval),
        }
    }

    /// Returns why the number is worse than its interval suggests, if most samples were disturbed.
    pub fn doubt(&self) -> Option<String> {
        let Outcome { taken, disturbed, .. } = self.outcome;
        let disturbed = disturbed?;
        self.outcome.restless().then(|| {
            format!(
                "the thread was disturbed in {disturbed} of {taken} samples: other threads, or a \
                 hyper-thread beside it, use this core"
            )
        })
    }
}

impl fmt::Display for Timing {
    /// Prints `4.01 [4.00, 4.02] core cycles, 1.02 [1.02, 1.03] ns; 1 of 15 samples disturbed`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cycles) = self.core_cycles() {
            write!(f, "{} core cycles, ", around(cycles))?;
        }
        write!(f, "{} ns", around(self.nanos()))?;
        let Outcome { taken, disturbed, .. } = self.outcome;
        match disturbed {
            Some(0) => {}
            Some(some) => write!(f, "; {some} of {taken} samples disturbed")?,
            None => f.write_str("; not monitored for disturbances")?,
        }
        match self.outcome.ended {
            Ended::Budget => f.write_str("; the budget ended before the precision was reached"),
            Ended::Full => write!(f, "; {taken} samples did not reach the precision"),
            Ended::Precise | Ended::Stopped => Ok(()),
        }
    }
}

/// Formats the median within its interval.
fn around(summary: Summary) -> impl fmt::Display {
    struct Around(Summary);
    impl fmt::Display for Around {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.interval.write_with(self.0.median, f)
        }
    }
    Around(summary)
}

/// The times of single operations, each after its preparation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shots {
    /// The median over samples of up to 16 shots, whose resolution is finer than a step of the counter.
    pub timing: Timing,
    /// Ticks of each of up to 10,000 shots, timed separately. [`Rate::nanos`] converts them.
    /// Interruptions are included.
    pub single: Histogram,
}

impl Shots {
    /// Returns the nanoseconds that a share `q` of the single shots did not exceed.
    pub fn nanos_at(&self, q: f64) -> Option<f64> {
        let ticks = self.single.quantile(q)?;
        Some(self.timing.rate.nanos(ticks as f64))
    }
}

impl fmt::Display for Shots {
    /// Prints the timing, and `p50 101, p90 110, p99 180, p99.9 2000, max 5100 ns of 10000 shots`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; single shots:", self.timing)?;
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            write!(f, " {name} {:.0},", self.nanos_at(q).unwrap_or(f64::NAN))?;
        }
        let max = self.nanos_at(1.0).unwrap_or(f64::NAN);
        write!(f, " max {max:.0} ns of {} shots", self.single.count())
    }
}

/// The timings of two pieces of code, measured interleaved.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The timing of the first.
    pub first: Timing,
    /// The timing of the second.
    pub second: Timing,
    /// The time of the first over the time of the second; `None` if either does nothing. Another run has
    /// other physical pages and other code addresses, which the interval does not cover.
    pub ratio: Option<Summary>,
}

impl fmt::Display for Comparison {
    /// Prints a line each, and `the first takes 1.32 [1.30, 1.34] times as long as the second`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { first, second, ratio } = self;
        writeln!(f, "first: {first}")?;
        writeln!(f, "second: {second}")?;
        match ratio.map(around) {
            Some(ratio) => write!(f, "the first takes {ratio} times as long as the second"),
            None => f.write_str("no ratio: one of them takes no time"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::stats::Interval;

    /// Returns the timing of twenty samples of `ticks` +/- `reach` ticks per operation. One tick is one
    /// core cycle and half a nanosecond.
    pub fn planted(ticks: f64, reach: f64, disturbed: usize) -> Timing {
        let outcome = Outcome {
            taken: 20,
            operations: 1,
            ticks: Summary {
                n: 20,
                median: ticks,
                mad: reach,
                min: ticks - reach,
                interval: Interval::new(ticks - reach, ticks + reach),
            },
            core_per_tick: Some(1.0),
            disturbed: Some(disturbed),
            ended: Ended::Precise,
            checksum: 0,
        };
        Timing { outcome, rate: Rate::from_hz(2e9) }
    }

    #[test]
    fn a_timing_is_in_three_units_with_its_doubt() {
        let timing = planted(4.0, 0.2, 3);
        assert_eq!(timing.nanos().median, 2.0);
        assert_eq!(timing.core_cycles(), Some(timing.ticks()));
        let line = timing.line("mine");
        assert_eq!((line.name, line.nanoseconds), ("mine", timing.nanos().interval));
        assert_eq!(line.cycles, Some(timing.ticks().interval));
        let text = timing.to_string();
        let cycles = "4.00 [3.80, 4.20] core cycles, 2.00 [1.90, 2.10] ns";
        assert_eq!(text, format!("{cycles}; 3 of 20 samples disturbed"));
        let mut alone = timing;
        alone.outcome.core_per_tick = None;
        alone.outcome.disturbed = None;
        for (ended, why) in [
            (Ended::Budget, "the budget ended before the precision was reached"),
            (Ended::Full, "20 samples did not reach the precision"),
        ] {
            alone.outcome.ended = ended;
            let unseen = "2.00 [1.90, 2.10] ns; not monitored for disturbances";
            assert_eq!(alone.to_string(), format!("{unseen}; {why}"));
        }
    }

    #[test]
    fn single_shots_are_shown_in_nanoseconds() {
        let mut single = Histogram::new();
        (0..100).for_each(|value| single.record(value / 50 * 10 + 10));
        let timing = planted(10.0, 0.0, 0);
        let shots = Shots { timing, single };
        assert_eq!(shots.nanos_at(0.5), Some(5.0));
        let text = shots.to_string();
        let wanted = "single shots: p50 5, p90 10, p99 10, p99.9 10, max 10 ns of 100 shots";
        assert!(text.ends_with(wanted), "{text}");
    }
}
