//! What the machine's parameters predict for an experiment's own cases.
//!
//! The parameters are the ladder, CPUID, what is published of the core, and the few points of
//! [`calibrating`]. None is fitted to a curve that is predicted.

use crate::experiment::machine::calibration::{calibrating, cycles};
pub(in crate::experiment) use crate::experiment::machine::predict::core::{
    add_latency, in_flight, window,
};
pub use crate::experiment::machine::predict::forecast::{Forecast, Model, Parameters};
pub(in crate::experiment) use crate::experiment::machine::predict::stream::{Flow, moved};
pub(in crate::experiment) use crate::experiment::machine::predict::walk::{
    Places, in_order, random,
};
use crate::experiment::{Curve, Evidence, Experiment, Measured, Point, State};
use crate::stats::{Interval, Summary, median};

mod core;
mod forecast;
mod stream;
mod walk;

/// The predicted curves of an experiment, and how well they did.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The experiment's curves, drawn from predicted points, in the unit of the evidence.
    pub curves: Vec<Curve>,
    /// The median of |predicted / measured - 1| over the times that have both.
    pub error: f64,
    /// How many times those are.
    pub points: usize,
    /// The largest error with which the prediction counts as good.
    pub bar: f64,
    /// By which models.
    pub models: Vec<&'static Model>,
    /// What the models of those points leave out that miss the bar, the most frequent first.
    pub lacks: Vec<&'static str>,
}

impl Prediction {
    /// Whether half of the points miss the bar.
    pub fn poor(&self) -> bool {
        self.error > self.bar
    }
}

/// What is predicted for the points of an experiment, if anything is that is not a parameter
/// itself.
pub fn prediction(experiment: &Experiment, evidence: &Evidence<'_>) -> Option<Prediction> {
    let machine = evidence.machine;
    let parameters: Vec<String> = calibrating(machine)
        .iter()
        .map(|case| format!("{:?}", case.setup))
        .collect();
    let mut predicted = Vec::new();
    let mut errors: Vec<(f64, &'static Model)> = Vec::new();
    for case in (experiment.cases)(machine) {
        let same = |point: &&Point| case.is_at(point);
        let Some(point) = evidence.points.iter().find(same) else {
            continue;
        };
        let State::Measured(measured) = &point.state else {
            continue;
        };
        let known = Parameters::at(machine, measured);
        let Some(Forecast {
            cycles: value,
            model,
        }) = case.setup.predict(&known)
        else {
            continue;
        };
        let at = cycles(measured, machine);
        if !(value.is_finite() && value > 0.0 && at > 0.0) {
            continue;
        }
        if !parameters.contains(&format!("{:?}", case.setup)) {
            errors.push(((value / at - 1.0).abs(), model));
        }
        predicted.push(Point {
            series: case.series,
            x: case.x,
            state: State::Measured(Box::new(instead(measured, value))),
        });
    }
    let mut sorted: Vec<f64> = errors.iter().map(|(error, _)| *error).collect();
    sorted.sort_by(f64::total_cmp);
    let error = median(&sorted)?;
    let mut models: Vec<&'static Model> = Vec::new();
    for (_, model) in &errors {
        if !models.contains(model) {
            models.push(model);
        }
    }
    let bars = models.iter().map(|model| model.bar);
    let drawn = Evidence {
        points: &predicted,
        ..*evidence
    };
    Some(Prediction {
        curves: (experiment.curves)(&drawn),
        error,
        points: errors.len(),
        bar: bars.fold(0.0, f64::max),
        lacks: lacks(&errors),
        models,
    })
}

/// A time of `cycles` in the place of the one that was measured.
fn instead(measured: &Measured, cycles: f64) -> Measured {
    let ticks = cycles / measured.core_per_tick.unwrap_or(1.0);
    Measured {
        ticks: Summary {
            median: ticks,
            mad: 0.0,
            min: ticks,
            interval: Interval::exact(ticks),
            ..measured.ticks
        },
        samples: Vec::new(),
        passes: Vec::new(),
        counts: Vec::new(),
        ..measured.clone()
    }
}

/// What the models leave out of those points that miss their bar.
fn lacks(errors: &[(f64, &'static Model)]) -> Vec<&'static str> {
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    for (_, model) in errors.iter().filter(|(error, model)| *error > model.bar) {
        match found.iter_mut().find(|(lack, _)| *lack == model.leaves_out) {
            Some((_, count)) => *count += 1,
            None => found.push((model.leaves_out, 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.into_iter().map(|(lack, _)| lack).collect()
}
