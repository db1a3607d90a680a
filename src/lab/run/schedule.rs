//! Keeps a run within its time.
//!
//! The time for layout and warm-up is unknown before a machine has done it once, and on a shared core
//! everything takes longer. In the first pass, the time of the experiments measured so far predicts the time
//! of the others, in proportion to the size of their points. After that, each experiment's own time predicts
//! its next. If the remaining experiments would take longer than the time left, sampling is shortened. If
//! that is not enough, because lists of gigabytes take longer to lay out than to walk, the most expensive
//! experiments are left out of the pass, so that as many as possible are measured.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{Case, Experiment};

/// The approximate share of sampling in a pass.
const SAMPLING: f64 = 0.5;

/// The least share to which sampling is shortened: with less there would be no samples to judge by.
const LEAST: f64 = 0.2;

/// The share of a run's time that is kept for undecided claims. Samples differ less within a pass than
/// between passes, so further passes decide more than longer passes.
const KEPT: f64 = 0.4;

/// Factor on the expected time of the rest of a pass, for the choice of experiments that are left for later.
/// Without it, an expectation that is too low would drop the last experiments, even cheap ones.
const MARGIN: f64 = 1.25;

/// The time of a run, and the times of its experiments.
#[derive(Debug)]
pub(super) struct Schedule {
    /// When the run has to end; `None` if its time is not limited.
    until: Option<Instant>,
    /// When the first pass has to end at the latest: a budget that is too small for one pass decides nothing.
    first_until: Option<Instant>,
    /// The time that the passes over all experiments leave for undecided claims.
    kept: Duration,
    /// Seconds that each experiment took when it was last measured, or would have taken with its usual
    /// sampling.
    took: HashMap<&'static str, f64>,
    /// The size of each experiment's points.
    sizes: HashMap<&'static str, f64>,
}

impl Schedule {
    /// Creates a schedule that ends at `until`.
    pub fn to(until: Option<Instant>) -> Self {
        Schedule {
            until,
            first_until: until,
            kept: Duration::ZERO,
            took: HashMap::new(),
            sizes: HashMap::new(),
        }
    }

    /// Creates a schedule for a run of this length that ends at `until` and has time for undecided claims. Its
    /// first pass may take until `first_until`.
    pub fn with_looks(until: Instant, length: Duration, first_until: Instant) -> Self {
        Schedule {
            kept: length.mul_f64(KEPT),
            first_until: Some(first_until.max(until)),
            ..Schedule::to(Some(until))
        }
    }

    /// Sets another end. The known times of the experiments are kept.
    pub fn until(&mut self, until: Instant) {
        (self.until, self.first_until) = (Some(until), Some(until));
    }

    /// Stores the size of an experiment to come. If it was measured with other cases, its time is expected to
    /// change in proportion.
    pub fn plan(&mut self, id: &'static str, cases: &[Case]) {
        let size = cases.iter().map(Case::cost).sum();
        let before = self.sizes.insert(id, size);
        if let (Some(before), Some(time)) = (before.filter(|of| *of > 0.0), self.took.get_mut(id)) {
            *time *= size / before;
        }
    }

    /// Returns whether no time is left for a pass.
    pub fn is_over(&self, pass: u32) -> bool {
        let until = self.end_of(pass);
        until.is_some_and(|until| until <= Instant::now())
    }

    /// Returns when a pass has to end at the latest.
    fn end_of(&self, pass: u32) -> Option<Instant> {
        match pass {
            0 => self.first_until,
            _ => self.until,
        }
    }

    /// Stores how long an experiment took with this share of its usual sampling.
    pub fn took(&mut self, id: &'static str, time: Duration, sampling: f64) {
        self.took.insert(id, time.as_secs_f64() / shortened(sampling));
    }

    /// Returns the share of its usual time that sampling gets, if the `rest` of this pass and `passes`
    /// passes over `all` experiments are to come. 1 if they fit into the time left.
    pub fn sampling(&self, rest: &[&Experiment], passes: u32, all: &[&Experiment]) -> f64 {
        let Some(until) = self.until else { return 1.0 };
        let takes = |of: &[&Experiment]| self.times(of).iter().sum::<f64>();
        let expected = takes(rest) + f64::from(passes) * takes(all);
        let left = until.saturating_duration_since(Instant::now());
        share(left.saturating_sub(self.kept).as_secs_f64(), expected)
    }

    /// Returns whether the first experiment of `rest`, the experiments that this pass has not measured yet,
    /// is left for later. Experiments are left if the rest does not fit into the time left even with the
    /// shortest sampling: the most expensive ones, and only as many as necessary.
    pub fn leaves(&self, rest: &[&Experiment], pass: u32) -> bool {
        let mut times = self.shortest(rest);
        let (Some(left), Some(&first)) = (self.left(pass), times.first()) else { return false };
        times.sort_by(|a, b| b.total_cmp(a));
        let mut too_much = times.iter().sum::<f64>() * MARGIN - left;
        for time in times {
            if too_much <= 0.0 {
                return false;
            }
            if time == first {
                return true;
            }
            too_much -= time * MARGIN;
        }
        false
    }

    /// Returns whether an experiment fits into the time left for a pass.
    pub fn fits(&self, experiment: &Experiment, pass: u32) -> bool {
        let left = self.left(pass).unwrap_or(f64::INFINITY);
        self.shortest(&[experiment])[0] <= left
    }

    /// Returns the seconds that each experiment takes with the shortest sampling.
    pub fn shortest(&self, of: &[&Experiment]) -> Vec<f64> {
        let times = self.times(of).into_iter();
        times.map(|time| time * shortened(LEAST)).collect()
    }

    /// Returns the seconds left for a pass; `None` if its time is not limited.
    fn left(&self, pass: u32) -> Option<f64> {
        let left = self.end_of(pass)?.saturating_duration_since(Instant::now());
        Some(left.as_secs_f64())
    }

    /// Returns the seconds that each experiment takes with its usual sampling: from its last measurement, or
    /// in proportion to its size. 0 if nothing was measured.
    fn times(&self, of: &[&Experiment]) -> Vec<f64> {
        let known = || self.took.iter().filter(|(_, time)| **time > 0.0);
        let size = |id: &str| self.sizes.get(id).copied().unwrap_or_default();
        let measured: f64 = known().map(|(id, _)| size(id)).sum();
        let seconds = known().map(|(_, time)| time).sum::<f64>();
        let pace = if measured > 0.0 { seconds / measured } else { 0.0 };
        let time = |of: &&Experiment| {
            let took = self.took.get(of.id).copied();
            took.unwrap_or_else(|| pace * size(of.id))
        };
        of.iter().map(time).collect()
    }
}

/// Returns the share of its usual time that an experiment takes with this share of its usual sampling.
fn shortened(sampling: f64) -> f64 {
    1.0 - SAMPLING * (1.0 - sampling)
}

/// Returns the share of its usual time that sampling keeps, so that work of `expected` seconds fits into
/// `left` seconds.
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
        schedule.took("D1", Duration::from_secs(150), 1.0);
        schedule.took("D2", Duration::from_secs(40), 1.0);
        let [long, short, unknown] = ["D1", "D2", "D3"].map(|id| find(id).unwrap());
        assert_eq!(schedule.sampling(&[short, unknown], 0, &[]), 1.0);
        let behind = schedule.sampling(&[long], 0, &[long]);
        assert!((LEAST..0.5).contains(&behind), "{behind}");
        assert_eq!(schedule.sampling(&[short], 1, &[short]), 1.0);
        assert!(schedule.sampling(&[short], 2, &[short]) < 1.0);
        // An experiment not measured yet is assumed to take as long for its size.
        let points = |count: i32| -> Vec<Case> {
            let setup = || crate::experiment::shared::arithmetic::RegisterSetup;
            (0..count).map(|x| Case::new("a", x, setup())).collect()
        };
        for (id, count) in [("D1", 10), ("D2", 10), ("D3", 30)] {
            schedule.plan(id, &points(count));
        }
        assert!(schedule.sampling(&[unknown], 0, &[]) < 1.0, "285 s are to come");
        schedule.plan("D3", &points(5));
        assert_eq!(schedule.sampling(&[unknown], 0, &[]), 1.0);
        // An experiment that loses cases takes less time.
        assert!(schedule.sampling(&[long], 0, &[]) < 1.0);
        schedule.plan("D1", &points(5));
        assert_eq!(schedule.sampling(&[long], 0, &[]), 1.0);
        schedule.plan("D1", &points(10));
        // Less time is left for the passes if undecided claims are to be measured further.
        let (until, length) = (schedule.until.unwrap(), Duration::from_secs(100));
        assert_eq!(schedule.sampling(&[short, short], 0, &[]), 1.0);
        let mut kept = Schedule::with_looks(until, length, until);
        kept.took("D2", Duration::from_secs(40), 1.0);
        assert_eq!(kept.sampling(&[short], 0, &[]), 1.0);
        assert!(kept.sampling(&[short, short], 0, &[]) < 1.0);
        schedule.until = None;
        assert_eq!(schedule.sampling(&[long], 2, &[long]), 1.0);
        assert!(!schedule.is_over(1));
        assert!(Schedule::to(Some(Instant::now())).is_over(0));
    }

    #[test]
    fn addresses_that_are_only_reserved_take_no_time() {
        let setup = crate::experiment::shared::walk::WalkSetup::follow(
            crate::pattern::Layout::npad(7),
            1 << 30,
            crate::pattern::Order::Sequential,
        );
        let no_memory = crate::experiment::shared::arithmetic::RegisterSetup;
        let least = Case::new("a", 1, no_memory).cost();
        let walk = Case::new("a", 1, setup);
        assert!(walk.cost() > 100.0 * least);
        assert_eq!(walk.in_reservation().cost(), least);
    }

    #[test]
    fn the_most_expensive_are_left_out_if_the_rest_then_fits() {
        let now = Instant::now();
        let until = now + Duration::from_secs(100);
        let mut schedule = Schedule::with_looks(now, Duration::from_secs(100), until);
        let [long, short, other] = ["D1", "D2", "D3"].map(|id| find(id).unwrap());
        let all = [long, short, other];
        assert!(!schedule.leaves(&all, 0), "nothing is known yet");
        // Sampling may be shortened to a fifth: six tenths of the time are left then, 144 s.
        schedule.took("D1", Duration::from_secs(120), 1.0);
        schedule.took("D2", Duration::from_secs(60), 1.0);
        schedule.took("D3", Duration::from_secs(60), 1.0);
        assert!(schedule.leaves(&all, 0));
        assert!(!schedule.leaves(&[short, long], 0), "short is cheaper");
        assert!(!schedule.leaves(&[short, other], 0));
        assert!(schedule.fits(long, 0));
        // A time with less sampling counts as a longer time with the usual sampling.
        schedule.took("D1", Duration::from_secs(120), LEAST);
        assert!(!schedule.fits(long, 0));
        // Only the first pass may take longer than the budget.
        assert!(!schedule.is_over(0) && schedule.is_over(1));
        assert!(schedule.leaves(&[short], 1));
        assert!(!Schedule::to(None).leaves(&all, 0));
    }
}
