//! Summarises the records of many hosts: the distribution of each figure, the outliers, and the settings in
//! which an outlier differs from most hosts. A gate compares a host's values with the medians of the fleet.
//!
//! Records are read a few at a time. Of each record, only its settings and three numbers per figure are kept.

mod outlier;
mod print;

pub(crate) use outlier::{DISTANCE, LEAST, SCORE, Spread};
pub(crate) use print::Summary;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rayon::prelude::*;

use crate::lab::analysis::{ExperimentPoints, points_by_experiment};
use crate::lab::compare::{
    Difference, Failure, Gate, GateError, LADDER_TITLE, Outcome, Place, each_names_one, family_of,
    names_of,
};
use crate::lab::read::{read, record_at, warn};
use crate::lab::record::{MACHINE, Record};
use crate::lab::report::build::axis;
use crate::lab::report::view::{self, AxisView};
use crate::order::greatest_first;
use crate::stats::Interval;
use outlier::{Settings, settings_of};

/// The largest number of records that are shown side by side. `compare` summarises more records as a fleet.
pub(crate) const SIDE_BY_SIDE: usize = 8;

/// Records of many hosts.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    /// The hosts, in the order of the records.
    pub hosts: Vec<Host>,
    /// The series of all hosts, in the order in which they first occur.
    pub series: Vec<Series>,
    places: HashMap<Key, (usize, HashMap<u64, usize>)>,
}

/// A host, by its record.
#[derive(Debug)]
pub(crate) struct Host {
    /// The name of the record.
    pub name: String,
    pub settings: Settings,
}

/// Experiment, series and unit.
type Key = (String, String, &'static str);

/// A series that at least one host has.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub family: &'static str,
    /// The experiment: its id, its name and its title.
    pub experiment: [String; 3],
    /// The series.
    pub label: String,
    pub unit: &'static str,
    pub axis: AxisView,
    /// The positions on that axis, each with the values of the hosts.
    pub figures: Vec<Figure>,
}

/// A position of a series, with the values of the hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    pub x: f64,
    /// The values, in the order of the hosts.
    pub values: Vec<Value>,
}

/// The value of a host, and its interval. The seven digits of an `f32` exceed the precision of any
/// measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub host: u32,
    pub lo: f32,
    pub mid: f32,
    pub hi: f32,
}

impl Value {
    pub fn of(host: u32, value: Interval) -> Self {
        Value { host, lo: value.lo as f32, mid: value.center() as f32, hi: value.hi as f32 }
    }

    /// Returns the value as one of a curve, at this place.
    pub fn at(self, x: f64) -> view::Value {
        view::Value { x, lo: self.lo.into(), mid: self.mid.into(), hi: self.hi.into() }
    }
}

/// Reads the records, as many at a time as there are CPUs.
pub(crate) fn fleet(paths: &[PathBuf], labels: &[String]) -> Result<Fleet> {
    let mut names = names_of(paths);
    for (name, label) in names.iter_mut().zip(labels) {
        name.clone_from(label);
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    each_names_one(&all, labels.len())?;
    let mut fleet = Fleet::default();
    let mut names = names.into_iter();
    for some in paths.chunks(rayon::current_num_threads().max(1)) {
        let kept: Vec<Result<Kept>> = some.par_iter().map(|path| kept(path)).collect();
        for (one, name) in kept.into_iter().zip(&mut names) {
            let one = one?;
            warn(&name, one.cut_off);
            fleet.add(name, one);
        }
    }
    Ok(fleet)
}

/// The parts of a record that are kept.
struct Kept {
    settings: Settings,
    series: Vec<(Series, Vec<Value>)>,
    cut_off: Option<usize>,
}

fn kept(path: &Path) -> Result<Kept> {
    let reading = read(&record_at(path))?;
    Ok(Kept {
        settings: settings_of(&reading.record),
        series: series_of(&reading.record),
        cut_off: reading.cut_off,
    })
}

/// Returns the series of a record, with a value per position.
fn series_of(record: &Record) -> Vec<(Series, Vec<Value>)> {
    let (machine, experiments) = points_by_experiment(record);
    let mut found = Vec::new();
    for of in &experiments {
        let (curves, unit) = of.curves(&machine);
        let Some(axis) = of.axis().map(axis) else { continue };
        for curve in curves {
            let values = curve.points.iter().map(|(_, value)| Value::of(0, *value)).collect();
            let figure = |&(x, _): &(f64, _)| Figure { x, values: Vec::new() };
            let series = Series {
                family: family_of(of.id),
                experiment: named(of),
                label: curve.label.clone(),
                unit: unit.label(),
                axis: axis.clone(),
                figures: curve.points.iter().map(figure).collect(),
            };
            found.push((series, values));
        }
    }
    found
}

fn named(of: &ExperimentPoints<'_>) -> [String; 3] {
    let [name, title] = match of.experiment {
        Some(of) => [of.name, of.title],
        None if of.id == MACHINE => ["ladder", LADDER_TITLE],
        None => ["", ""],
    };
    [of.id, name, title].map(str::to_owned)
}

impl Fleet {
    fn add(&mut self, name: String, kept: Kept) {
        let host = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        self.hosts.push(Host { name, settings: kept.settings });
        for (series, values) in kept.series {
            let key = (series.experiment[0].clone(), series.label.clone(), series.unit);
            let (index, places) = self.places.entry(key).or_insert_with(|| {
                self.series.push(Series { figures: Vec::new(), ..series.clone() });
                (self.series.len() - 1, HashMap::new())
            });
            let figures = &mut self.series[*index].figures;
            for (figure, value) in series.figures.into_iter().zip(values) {
                let place = *places.entry((figure.x + 0.0).to_bits()).or_insert_with(|| {
                    figures.push(figure);
                    figures.len() - 1
                });
                let values = &mut figures[place].values;
                // A curve may have two points at one position. The first one counts.
                if values.last().is_none_or(|last| last.host != host) {
                    values.push(Value { host, ..value });
                }
            }
        }
    }
}

/// Judges gates host by host. The ratio of a gate is a host's value over the median of the fleet.
///
/// # Errors
/// If no point matches a gate.
pub(crate) fn judge(fleet: &Fleet, gates: Vec<Gate>) -> Result<Vec<(Gate, Outcome)>> {
    let median = |of: &Figure| Some(Spread::of(of)?.median());
    let medians = |series: &Series| series.figures.iter().map(median).collect();
    let medians: Vec<Vec<Option<f64>>> = fleet.series.iter().map(medians).collect();
    let mut judged = Vec::new();
    for gate in gates {
        let mut failures = Vec::new();
        let mut points = 0;
        let mut missed = None;
        for (host, of) in fleet.hosts.iter().enumerate() {
            let differences = differences(fleet, host as u32, &medians);
            match gate.judge(&[(&of.name, &differences)]) {
                Ok(outcome) => {
                    points += outcome.points;
                    failures.extend(outcome.failures);
                }
                // A host may lack points that other hosts have.
                Err(GateError::Nothing(text)) => missed = Some(GateError::Nothing(text)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = missed.filter(|_| points == 0) {
            return Err(error.into());
        }
        greatest_first(&mut failures, |of: &Failure| (of.times / gate.limit).ln().abs());
        judged.push((gate, Outcome { failures, points }));
    }
    Ok(judged)
}

/// Returns the values of a host compared with the medians.
fn differences(fleet: &Fleet, host: u32, medians: &[Vec<Option<f64>>]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (series, medians) in fleet.series.iter().zip(medians) {
        let mut places = Vec::new();
        for (figure, median) in series.figures.iter().zip(medians) {
            let at = figure.values.binary_search_by_key(&host, |value| value.host);
            let (Ok(at), Some(median)) = (at, *median) else { continue };
            let (a, b) = (view::Value::exact(figure.x, median), figure.values[at].at(figure.x));
            let ratio = Interval::new(b.lo, b.hi).ratio(Interval::exact(median));
            places.push(Place { x: figure.x, a, b, ratio });
        }
        let [id, name, title] = series.experiment.clone();
        found.push(Difference {
            family: series.family,
            id,
            name,
            title,
            axis: series.axis.clone(),
            unit: series.unit.to_owned(),
            series: series.label.clone(),
            places,
            alone: 0,
        });
    }
    found
}
