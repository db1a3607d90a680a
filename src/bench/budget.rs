//! A budget of core cycles, for tests.

use core::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Bench, Timing};

/// The number of measurements that must all exceed a budget before it counts as exceeded.
const TRIES: usize = 3;

/// The result of a check of code against its budget of core cycles.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a budget fails only if it is asserted or looked at"]
#[non_exhaustive]
pub enum Budget {
    /// The whole interval lies within the budget.
    Kept(Timing),
    /// The whole interval lies above the budget, in three measurements.
    Exceeded {
        /// The last measurement.
        timing: Timing,
        /// Core cycles allowed per operation.
        limit: f64,
    },
    /// This machine cannot decide now, for this reason.
    Undecided(String),
}

impl Budget {
    /// Panics if the budget is exceeded. If nothing was decided, prints the reason to standard error.
    ///
    /// # Panics
    /// On [`Exceeded`](Self::Exceeded).
    #[track_caller]
    pub fn assert(&self) {
        match self {
            Budget::Kept(_) => {}
            Budget::Exceeded { .. } => panic!("{self}"),
            Budget::Undecided(_) => eprintln!("{self}"),
        }
    }

    fn of(timing: Timing, limit: f64) -> Self {
        let Some(cycles) = timing.core_cycles() else {
            return Budget::Undecided("no core cycles: the yardstick was not timed".to_owned());
        };
        // Disturbances only add time: a disturbed measurement within the budget counts.
        if cycles.interval.hi <= limit {
            return Budget::Kept(timing);
        }
        if let Some(doubt) = timing.doubt() {
            return Budget::Undecided(doubt);
        }
        if cycles.interval.lo > limit {
            return Budget::Exceeded { timing, limit };
        }
        Budget::Undecided(format!(
            "{limit} core cycles lie within the interval of what was measured: {timing}"
        ))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Kept(timing) => write!(f, "kept: {timing}"),
            Budget::Exceeded { timing, limit } => {
                write!(f, "more than {limit} core cycles: {timing}")
            }
            Budget::Undecided(why) => write!(f, "budget not judged: {why}"),
        }
    }
}

impl Bench {
    /// Checks that an operation takes at most `limit` core cycles. Ticks are converted by the yardstick
    /// of the same run, so that neither the clock of the core nor turbo matters. An excess counts only
    /// if three measurements show it.
    ///
    /// Unsuitable for hosts where other threads use the same core (shared CI runners): the result is
    /// [`Undecided`](Budget::Undecided) there, or occasionally a false excess. Allow for the difference
    /// between core types, too.
    pub fn cycles_at_most<R>(&mut self, limit: f64, mut work: impl FnMut(u64) -> R) -> Budget {
        let mut judge = || Budget::of(self.steady_fn(&mut work), limit);
        let mut budget = judge();
        for _ in 1..TRIES {
            if let Budget::Exceeded { .. } = budget {
                budget = judge();
            }
        }
        budget
    }
}

/// For tests: panics if an operation of `work` takes more than `limit` core cycles, and prints to
/// standard error if this machine cannot decide. [`Bench::cycles_at_most`] lists the requirements.
/// Several such tests in a process wait for each other.
///
/// In a build without optimisation, an excess is printed and does not fail the test: use `cargo test
/// --release`.
///
/// ```
/// use linefill::bench::assert_cycles_at_most;
///
/// let mut sum = 0_u64;
/// assert_cycles_at_most(50.0, |n| {
///     for i in 0..n {
///         sum = std::hint::black_box(sum + i);
///     }
/// });
/// ```
///
/// # Panics
/// If the budget is exceeded.
#[track_caller]
pub fn assert_cycles_at_most<R>(limit: f64, work: impl FnMut(u64) -> R) {
    // Tests of a process run in parallel, and would all choose the same CPU.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let budget = match Bench::new() {
        Ok(mut bench) => bench.cycles_at_most(limit, work),
        Err(error) => Budget::Undecided(error.to_string()),
    };
    match budget {
        Budget::Exceeded { .. } if cfg!(debug_assertions) => {
            eprintln!("{budget}; not judged: built without optimisation");
        }
        judged => judged.assert(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::timing::tests::planted;

    #[test]
    fn an_interval_decides_and_a_disturbed_thread_does_not() {
        // 10 cycles, in the interval [9, 11].
        let calm = planted(10.0, 1.0, 0);
        assert_eq!(Budget::of(calm, 11.0), Budget::Kept(calm));
        let limit = 8.9;
        let exceeded = Budget::of(calm, limit);
        assert_eq!(exceeded, Budget::Exceeded { timing: calm, limit });
        let text = exceeded.to_string();
        assert!(text.starts_with("more than 8.9 core cycles: 10.0 ["), "{text}");
        let across = Budget::of(calm, 10.0);
        assert!(across.to_string().contains("lie within the interval"), "{across}");

        let crowded = planted(10.0, 1.0, 20);
        assert_eq!(Budget::of(crowded, 11.0), Budget::Kept(crowded));
        let undecided = Budget::of(crowded, limit).to_string();
        assert!(undecided.contains("disturbed in 20 of 20 samples"), "{undecided}");

        let mut blind = calm;
        blind.outcome.core_per_tick = None;
        assert!(matches!(Budget::of(blind, 11.0), Budget::Undecided(_)));
    }

    #[test]
    #[should_panic(expected = "more than 1 core cycles")]
    fn an_excess_fails_a_test() {
        Budget::of(planted(10.0, 1.0, 0), 1.0).assert();
    }
}
