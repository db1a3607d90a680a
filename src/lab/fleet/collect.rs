//! What is kept of each record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rayon::prelude::*;

use super::setting::{Settings, settings_of};
use crate::lab::compare::{family_of, names_of};
use crate::lab::drawn::{Drawn, drawn};
use crate::lab::read::{read, record_at, warn};
use crate::lab::record::{MACHINE, Record};
use crate::lab::report::build::axis;
use crate::lab::report::view::AxisView;

/// Records of many hosts.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    /// The hosts, in the order of the records.
    pub hosts: Vec<Host>,
    /// What was measured, in the order in which it first occurs.
    pub series: Vec<Series>,
    places: HashMap<Key, (usize, HashMap<u64, usize>)>,
}

/// A host, by its record.
#[derive(Debug)]
pub(crate) struct Host {
    /// The name of the record.
    pub name: String,
    /// How the host is set.
    pub settings: Settings,
}

/// Experiment, series and unit.
type Key = (String, String, &'static str);

/// A series, as some hosts have it.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The family of the experiment.
    pub family: &'static str,
    /// The experiment: its id, its name and its title.
    pub experiment: [String; 3],
    /// The series.
    pub label: String,
    /// The unit of its values.
    pub unit: &'static str,
    /// The horizontal axis.
    pub axis: AxisView,
    /// Its places on that axis, each with the values of the hosts.
    pub figures: Vec<Figure>,
}

/// A number that hosts have: a place of a series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// Place on the horizontal axis.
    pub x: f64,
    /// The values, in the order of the hosts.
    pub values: Vec<Value>,
}

/// The value of a host, and its interval. Seven digits are more than any measurement has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub host: u32,
    pub lo: f32,
    pub mid: f32,
    pub hi: f32,
}

/// Reads the records, as many at a time as there are CPUs.
///
/// # Errors
/// If one is no record.
pub(crate) fn fleet(paths: &[PathBuf], labels: &[String]) -> Result<Fleet> {
    let mut names = names_of(paths);
    for (name, label) in names.iter_mut().zip(labels) {
        name.clone_from(label);
    }
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

/// What is kept of a record.
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

/// The series of a record, with a value per place.
fn series_of(record: &Record) -> Vec<(Series, Vec<Value>)> {
    let (machine, experiments) = drawn(record);
    let mut found = Vec::new();
    for of in &experiments {
        let (curves, unit) = of.curves(&machine);
        let Some(axis) = of.axis().map(axis) else {
            continue;
        };
        for curve in curves {
            let value = |&(_, value): &(f64, crate::stats::Interval)| Value {
                host: 0,
                lo: value.lo as f32,
                mid: value.middle() as f32,
                hi: value.hi as f32,
            };
            let figure = |&(x, _): &(f64, _)| Figure {
                x,
                values: Vec::new(),
            };
            let values = curve.points.iter().map(value).collect();
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

fn named(of: &Drawn<'_>) -> [String; 3] {
    let [name, title] = match of.experiment {
        Some(of) => [of.name, of.title],
        None if of.id == MACHINE => ["ladder", "A random walk, one line an element"],
        None => ["", ""],
    };
    [of.id, name, title].map(str::to_owned)
}

impl Fleet {
    fn add(&mut self, name: String, kept: Kept) {
        let host = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        self.hosts.push(Host {
            name,
            settings: kept.settings,
        });
        for (series, values) in kept.series {
            let key = (
                series.experiment[0].clone(),
                series.label.clone(),
                series.unit,
            );
            let (index, places) = self.places.entry(key).or_insert_with(|| {
                let figures = Vec::new();
                let shell = Series {
                    figures,
                    ..series.clone()
                };
                self.series.push(shell);
                (self.series.len() - 1, HashMap::new())
            });
            let figures = &mut self.series[*index].figures;
            for (figure, value) in series.figures.into_iter().zip(values) {
                let place = *places.entry((figure.x + 0.0).to_bits()).or_insert_with(|| {
                    figures.push(figure);
                    figures.len() - 1
                });
                let values = &mut figures[place].values;
                // A curve may have two points at one place.
                if values.last().is_none_or(|last| last.host != host) {
                    values.push(Value { host, ..value });
                }
            }
        }
    }
}
