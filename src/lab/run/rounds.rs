//! A selection measured again and again, for `linefill watch`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::measure::cut_short;
use super::schedule::Schedule;
use super::{Case, Experiment, Machine, Rig, Session, rig};
use crate::lab::record::PointLine;

/// A selection that is measured in rounds.
///
/// All rounds have the same lists in the same pages, so that they differ by their time alone.
pub(crate) struct Rounds<'a> {
    rig: Rig<'a>,
    plan: Vec<(&'static Experiment, Vec<Case>)>,
    schedule: Schedule,
    stop: &'a AtomicBool,
}

impl<'a> Rounds<'a> {
    /// The cases of `experiments` on this machine.
    pub fn of(
        session: &Session,
        machine: &Machine,
        experiments: &[&'static Experiment],
        stop: &'a AtomicBool,
    ) -> Self {
        let cases = |of: &&'static Experiment| (*of, (of.cases)(machine));
        let plan: Vec<(&'static Experiment, Vec<Case>)> = experiments.iter().map(cases).collect();
        let mut schedule = Schedule::to(None);
        for (experiment, cases) in &plan {
            schedule.plan(experiment.id, cases);
        }
        Rounds {
            rig: rig(session, stop),
            plan,
            schedule,
            stop,
        }
    }

    /// How many points a round has.
    pub fn points(&self) -> usize {
        self.plan.iter().map(|(_, cases)| cases.len()).sum()
    }

    /// Measures every case once: shorter than a run does if that would not be over at `until`. `None` if it
    /// was stopped before its end.
    pub fn measure(&mut self, until: Instant) -> Option<Vec<PointLine>> {
        let experiments: Vec<&Experiment> = self.plan.iter().map(|(of, _)| *of).collect();
        self.schedule.until(until);
        let mut points = Vec::new();
        for (index, (experiment, cases)) in self.plan.iter().enumerate() {
            let sampling = self.schedule.sampling(&experiments[index..], 0, &[]);
            self.rig.sample_for(sampling);
            let began = Instant::now();
            for case in cases {
                if self.stop.load(Ordering::Relaxed) {
                    return None;
                }
                let mut point = self.rig.measure(case).filter(|point| !cut_short(point))?;
                if let Some(measured) = point.measured_mut() {
                    measured.samples = Vec::new();
                }
                points.push(PointLine::new(experiment.id, 0, point));
            }
            self.schedule.took(experiment.id, began.elapsed());
        }
        Some(points)
    }
}
