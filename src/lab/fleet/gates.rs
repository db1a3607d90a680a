//! Gates of a fleet: a host's values over the medians of all.

use anyhow::Result;

use super::Fleet;
use super::outlier::Spread;
use crate::lab::compare::{Difference, Failure, Gate, GateError, Outcome, Place};
use crate::lab::report::view;
use crate::stats::Interval;

/// Judges gates host by host. The ratio of a gate is a host's value over the median of the fleet.
///
/// # Errors
/// If no point matches a gate.
pub(crate) fn judge(fleet: &Fleet, gates: Vec<Gate>) -> Result<Vec<(Gate, Outcome)>> {
    let medians: Vec<Vec<Option<f64>>> = fleet
        .series
        .iter()
        .map(|series| {
            let medians = series.figures.iter().map(|of| Some(Spread::of(of)?.median));
            medians.collect()
        })
        .collect();
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
                // A host need not have what others have.
                Err(GateError::Nothing(text)) => missed = Some(GateError::Nothing(text)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = missed.filter(|_| points == 0) {
            return Err(error.into());
        }
        let far = |of: &Failure| (of.times / gate.limit).ln().abs();
        failures.sort_by(|a, b| far(b).total_cmp(&far(a)));
        judged.push((gate, Outcome { failures, points }));
    }
    Ok(judged)
}

/// The values of a host beside the medians.
fn differences(fleet: &Fleet, host: u32, medians: &[Vec<Option<f64>>]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (series, medians) in fleet.series.iter().zip(medians) {
        let mut places = Vec::new();
        for (figure, median) in series.figures.iter().zip(medians) {
            let at = figure
                .values
                .binary_search_by_key(&host, |value| value.host);
            let (Ok(at), Some(median)) = (at, *median) else {
                continue;
            };
            let [lo, mid, hi] = {
                let value = figure.values[at];
                [value.lo, value.mid, value.hi].map(f64::from)
            };
            let x = figure.x;
            places.push(Place {
                x,
                a: view::Value {
                    x,
                    lo: median,
                    mid: median,
                    hi: median,
                },
                b: view::Value { x, lo, mid, hi },
                ratio: Interval::new(lo, hi).ratio(Interval::exact(median)),
            });
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
