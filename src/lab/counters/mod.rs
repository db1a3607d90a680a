//! Counters per operation, case by case: what `linefill counters` prints.

mod json;
mod print;

use std::sync::atomic::{AtomicBool, Ordering};

pub use json::json;
pub use print::table;

use super::progress::Progress;
use crate::counters::{Each, Named};
use crate::experiment::{Axis, Experiment, Machine, Rig, Untestable};
use crate::os::perf::{Counter, Event, Refusal};

/// The events that are counted, under the names by which they were asked for.
#[derive(Clone, Debug)]
pub struct Counted(Vec<(String, Event)>);

/// The events that are not, each with the reason.
#[derive(Clone, Debug)]
pub struct Refused(Vec<(String, Refusal)>);

/// What was counted of a case.
#[derive(Clone, Debug)]
pub struct CaseRun {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// The series.
    pub series: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// Event by event; or why it cannot be run here.
    pub outcome: Result<Vec<Result<Each, Refusal>>, Untestable>,
}

impl Counted {
    /// Parts `events` into those that the kernel counts for this thread and those that it refuses.
    pub fn open(events: Vec<Named>) -> (Self, Refused) {
        let (mut counted, mut refused) = (Vec::new(), Vec::new());
        for Named { name, event } in events {
            match event.and_then(|event| Counter::open(&event).map(|_| event)) {
                Ok(event) => counted.push((name, event)),
                Err(refusal) => refused.push((name, refusal)),
            }
        }
        (Counted(counted), Refused(refused))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The events.
    pub fn events(&self) -> Vec<Event> {
        self.0.iter().map(|(_, event)| *event).collect()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl Refused {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Which events, and why, with what would help: `A, B: no PMU (...)`.
    pub fn in_words(&self) -> String {
        let mut reasons: Vec<(&Refusal, Vec<&str>)> = Vec::new();
        for (name, refusal) in &self.0 {
            match reasons.iter_mut().find(|(known, _)| *known == refusal) {
                Some((_, names)) => names.push(name),
                None => reasons.push((refusal, vec![name])),
            }
        }
        let words = reasons.into_iter().map(|(refusal, names)| {
            format!("{}: {refusal} ({})", names.join(", "), refusal.mend())
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// Counts the cases of `experiments` on `machine` whose series is `chosen`, until stopped. Cases
/// that are numbers, and no operations, are passed over.
pub fn count(
    experiments: &[&'static Experiment],
    machine: &Machine,
    chosen: impl Fn(&str) -> bool,
    counted: &Counted,
    rig: &mut Rig<'_>,
    stop: &AtomicBool,
) -> Vec<CaseRun> {
    let events = counted.events();
    let mut cases = Vec::new();
    for experiment in experiments {
        let all = (experiment.cases)(machine).into_iter();
        cases.extend(all.map(|case| (*experiment, case)));
    }
    cases.retain(|(_, case)| chosen(&case.series));
    let mut progress = Progress::new(cases.len() as u64);
    let mut runs = Vec::new();
    for (experiment, case) in cases {
        progress.next(&format!("{} {}, {}", experiment.id, case.series, case.x));
        let outcome = rig.count(&case, &events);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        progress.measured();
        if outcome.as_ref().is_ok_and(Vec::is_empty) {
            continue;
        }
        runs.push(CaseRun {
            experiment,
            series: case.series,
            x: case.x,
            outcome,
        });
    }
    progress.finish();
    runs
}

/// The horizontal axis of an experiment: a plain number where it has no plot.
fn axis(experiment: &Experiment) -> Axis {
    experiment.plot.map_or(Axis::linear("x"), |plot| plot.x)
}
