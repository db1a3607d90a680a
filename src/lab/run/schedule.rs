//! How a run keeps to its time.
//!
//! What it takes to lay out and to warm up is not known before a machine has done it once, and on a
//! core that is shared everything takes longer. In the first pass, what the experiments behind took
//! tells what those ahead will take, by the size of their points; then each tells for itself. As soon
//! as what is to come would take more than the time that is left, sampling is shortened.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Case;
use super::Experiment;

/// The share of a pass that is sampling, by and large.
const SAMPLING: f64 = 0.5;

/// The share of its time that sampling keeps in any case: with less there would be no samples to
/// judge by.
const LEAST: f64 = 0.2;

/// The share of a run's time that is kept for the claims that its passes leave open: samples of one pass agree
/// better than passes do, so that further passes tell more than longer ones.
const KEPT: f64 = 0.4;

/// What a point costs besides its working set, as bytes that are laid out, flushed and walked once.
const A_POINT: f64 = 8.0 * 1048576.0;

/// The size of the points of an experiment: their time is roughly in proportion.
fn size_of(cases: &[Case]) -> f64 {
    let sizes = cases.iter().map(|case| case.setup.bytes() as f64 + A_POINT);
    sizes.sum()
}

/// The time that a run has, and what its experiments take of it.
#[derive(Debug)]
pub(super) struct Schedule {
    /// When it is to be over; `None` if it takes as long as it takes.
    until: Option<Instant>,
    /// What is kept of its time when the passes over everything are over.
    kept: Duration,
    /// Seconds of each experiment when it was measured last.
    took: HashMap<&'static str, f64>,
    /// The size of the points of each.
    sizes: HashMap<&'static str, f64>,
}

impl Schedule {
    /// For a run that is to be over at `until`.
    pub fn to(until: Option<Instant>) -> Self {
        Schedule {
            until,
            kept: Duration::ZERO,
            took: HashMap::new(),
            sizes: HashMap::new(),
        }
    }

    /// For a run of this length that is to be over at `until`, and measures open claims further.
    pub fn with_looks(until: Instant, length: Duration) -> Self {
        Schedule {
            kept: length.mul_f64(KEPT),
            ..Schedule::to(Some(until))
        }
    }

    /// Is to be over at another time from now on, and keeps what is known of the experiments.
    pub fn until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Remembers the points of an experiment that is to come.
    pub fn plan(&mut self, id: &'static str, cases: &[Case]) {
        self.sizes.insert(id, size_of(cases));
    }

    /// Whether no time is left.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Remembers how long an experiment took.
    pub fn took(&mut self, id: &'static str, time: Duration) {
        self.took.insert(id, time.as_secs_f64());
    }

    /// The share of its time that sampling gets, if the `rest` of a pass is to come, and so many
    /// passes of all: 1 unless they take more than is left.
    pub fn sampling(&self, rest: &[&Experiment], passes: u32, all: &[&Experiment]) -> f64 {
        let Some(until) = self.until else { return 1.0 };
        let known = || self.took.iter().filter(|(_, time)| **time > 0.0);
        let size = |id: &str| self.sizes.get(id).copied().unwrap_or_default();
        let measured: f64 = known().map(|(id, _)| size(id)).sum();
        let seconds = known().map(|(_, time)| time).sum::<f64>();
        let pace = match measured > 0.0 {
            true => seconds / measured,
            false => 0.0,
        };
        let time = |of: &&Experiment| {
            let took = self.took.get(of.id).copied();
            took.unwrap_or_else(|| pace * size(of.id))
        };
        let takes = |of: &[&Experiment]| of.iter().map(time).sum::<f64>();
        let expected = takes(rest) + f64::from(passes) * takes(all);
        let left = until.saturating_duration_since(Instant::now());
        share(left.saturating_sub(self.kept).as_secs_f64(), expected)
    }
}

/// The share of its time that sampling keeps, so that what would take `expected` seconds takes
/// those that are `left`.
fn share(left: f64, expected: f64) -> f64 {
    if expected <= left {
        return 1.0;
    }
    let too_much = 1.0 - left / expected;
    (1.0 - too_much / SAMPLING).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find;

    #[test]
    fn sampling_gives_up_what_a_run_has_too_much() {
        assert_eq!(share(100.0, 0.0), 1.0);
        assert_eq!(share(100.0, 100.0), 1.0);
        assert_eq!(share(75.0, 100.0), 0.5);
        assert_eq!(share(60.0, 100.0), LEAST);
        assert_eq!(share(0.0, 100.0), LEAST);
    }

    #[test]
    fn what_was_measured_tells_what_is_to_come() {
        let mut schedule = Schedule::to(Some(Instant::now() + Duration::from_secs(100)));
        schedule.took("D1", Duration::from_secs(150));
        schedule.took("D2", Duration::from_secs(40));
        let [long, short, unknown] = ["D1", "D2", "D3"].map(|id| find(id).unwrap());
        assert_eq!(schedule.sampling(&[short, unknown], 0, &[]), 1.0);
        let behind = schedule.sampling(&[long], 0, &[long]);
        assert!((LEAST..0.5).contains(&behind), "{behind}");
        assert_eq!(schedule.sampling(&[short], 1, &[short]), 1.0);
        assert!(schedule.sampling(&[short], 2, &[short]) < 1.0);
        // What was not measured yet is as fast for its size.
        let points = |count: i32| -> Vec<Case> {
            let setup = || crate::experiment::shared::arithmetic::RegisterSetup;
            (0..count).map(|x| Case::new("a", x, setup())).collect()
        };
        for (id, count) in [("D1", 10), ("D2", 10), ("D3", 30)] {
            schedule.plan(id, &points(count));
        }
        assert!(
            schedule.sampling(&[unknown], 0, &[]) < 1.0,
            "285 s are to come"
        );
        schedule.plan("D3", &points(5));
        assert_eq!(schedule.sampling(&[unknown], 0, &[]), 1.0);
        // Less is left for the passes if open claims are to be measured further.
        let (until, length) = (schedule.until.unwrap(), Duration::from_secs(100));
        assert_eq!(schedule.sampling(&[short, short], 0, &[]), 1.0);
        let mut kept = Schedule::with_looks(until, length);
        kept.took("D2", Duration::from_secs(40));
        assert_eq!(kept.sampling(&[short], 0, &[]), 1.0);
        assert!(kept.sampling(&[short, short], 0, &[]) < 1.0);
        schedule.until = None;
        assert_eq!(schedule.sampling(&[long], 2, &[long]), 1.0);
        assert!(!schedule.is_over());
        assert!(Schedule::to(Some(Instant::now())).is_over());
    }
}
