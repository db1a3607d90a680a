//! Predictions for an experiment's own cases from the machine's parameters.
//!
//! The parameters are the ladder, CPUID, published values of the core, and the few points of
//! [`calibrating`]. Each [`Model`] states whether one of its constants was fitted to curves. A point
//! whose quantity the calibration measured is drawn but not counted.

use crate::experiment::baseline::calibrating;
use crate::experiment::machine::calibration::cycles;
use crate::experiment::{
    Curve, Evidence, Experiment, Measured, Model, Parameters, Point, State, ThreadStats,
};
use crate::order;
use crate::prelude::*;
use crate::stats::{Interval, Summary, median_of};

/// The predicted curves of an experiment, and their accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The experiment's curves, drawn from predicted points, in the unit of the evidence.
    pub curves: Vec<Curve>,
    /// The points with both a predicted and a measured time, each set-up once.
    pub points: Vec<Compared>,
    /// The largest error at which the prediction counts as good.
    pub bar: f64,
    /// The models used.
    pub models: Vec<&'static Model>,
    /// What the models leave out of the points that miss their bar, the most frequent first.
    pub lacks: Vec<&'static str>,
}

/// The error of a predicted time.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The whole set-up. Experiments share points: points of one set-up are one measurement.
    pub setup: String,
    /// |predicted / measured - 1|.
    pub error: f64,
    /// Whether the calibration measured this quantity itself.
    pub own_quantity: bool,
}

impl Prediction {
    /// Returns the points that test a model.
    pub fn counted(&self) -> impl Iterator<Item = &Compared> {
        self.points.iter().filter(|point| !point.own_quantity)
    }

    /// Returns the median error of the points that test a model; `None` if there are no such points.
    pub fn error(&self) -> Option<f64> {
        median_of(self.counted().map(|point| point.error))
    }

    /// Whether the median error of the counted points exceeds the bar.
    pub fn poor(&self) -> bool {
        self.error().is_some_and(|error| error > self.bar)
    }
}

/// The accuracy of a record's predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The median error of the points that test a model, each set-up counted once.
    pub error: f64,
    /// The number of points that test a model.
    pub points: usize,
    /// The number of other points, which are predicted from their own quantity.
    pub own_quantity: usize,
}

impl Outcome {
    /// Summarises predictions. Returns `None` if no point tests a model.
    pub fn of<'a>(predictions: impl Iterator<Item = &'a Prediction>) -> Option<Self> {
        let mut points: Vec<&Compared> = predictions.flat_map(|of| &of.points).collect();
        order::by(&mut points, |one, other| one.setup.cmp(&other.setup));
        points.dedup_by(|one, other| one.setup == other.setup);
        let (own, counted): (Vec<&Compared>, Vec<&Compared>) =
            points.into_iter().partition(|point| point.own_quantity);
        Some(Outcome {
            error: median_of(counted.iter().map(|point| point.error))?,
            points: counted.len(),
            own_quantity: own.len(),
        })
    }
}

/// Predicts the points of an experiment. Returns `None` if no point is predicted.
pub fn prediction(experiment: &Experiment, evidence: &Evidence<'_>) -> Option<Prediction> {
    let machine = evidence.machine;
    let parameters: Vec<String> = calibrating(machine)
        .iter()
        .filter(|case| case.laps_from.is_none())
        .map(|case| format!("{:?}", case.setup))
        .collect();
    let mut predicted = Vec::new();
    let mut points: Vec<Compared> = Vec::new();
    let mut models: Vec<&'static Model> = Vec::new();
    let mut missed = Vec::new();
    for case in (experiment.cases)(machine) {
        let same = |point: &&Point| case.is_at(point);
        let Some(point) = evidence.points.iter().find(same) else { continue };
        let State::Measured(measured) = &point.state else { continue };
        let known = Parameters::at(machine, measured);
        let Some(forecast) = case.setup.predict(&known) else { continue };
        let (value, at) = (forecast.cycles, cycles(measured, machine));
        if !(value.is_finite() && value > 0.0 && at > 0.0) {
            continue;
        }
        let layout = format!("{:?}", case.setup);
        let own_quantity = forecast.own_quantity || parameters.contains(&layout);
        let setup = format!("{layout} in {:?}", case.pages);
        if points.iter().all(|point| point.setup != setup) {
            let error = (value / at - 1.0).abs();
            points.push(Compared { setup, error, own_quantity });
            if !models.contains(&forecast.model) {
                models.push(forecast.model);
            }
            if !own_quantity && error > forecast.model.bar {
                missed.push(forecast.model.leaves_out);
            }
        }
        predicted.push(Point {
            series: case.series,
            x: case.x,
            state: State::Measured(Box::new(instead(measured, value))),
        });
    }
    if points.is_empty() {
        return None;
    }
    let bars = models.iter().map(|model| model.bar);
    let drawn = Evidence { points: &predicted, ..*evidence };
    Some(Prediction {
        curves: (experiment.curves)(&drawn),
        points,
        bar: bars.fold(0.0, f64::max),
        lacks: lacks(&missed),
        models,
    })
}

/// Replaces the measured time by a time of `cycles`.
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
        runs: Vec::new(),
        confidence: None,
        // All threads take the same time.
        thread_stats: measured.thread_stats.map(|stats| ThreadStats {
            fastest: ticks,
            slowest: ticks,
            ..stats
        }),
        ..measured.clone()
    }
}

/// Returns what models leave out of the points that `missed` their bar, the most frequent first.
fn lacks(missed: &[&'static str]) -> Vec<&'static str> {
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    for &lack in missed {
        match found.iter_mut().find(|(known, _)| *known == lack) {
            Some((_, count)) => *count += 1,
            None => found.push((lack, 1)),
        }
    }
    order::by_key(&mut found, |(_, count)| ::core::cmp::Reverse(*count));
    found.into_iter().map(|(lack, _)| lack).collect()
}
