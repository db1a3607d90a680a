//! What the machine's parameters predict for an experiment's own cases.

use super::{Curve, Evidence, Experiment, Machine, Range, State, Unit};
use crate::mem::LINE;
use crate::model::{Level, Placement, Walk};
use crate::stats::{Interval, median};

/// The predicted curves of an experiment, and how well they did.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// A curve for each series of which some case has a prediction, in the unit of the evidence.
    pub curves: Vec<Curve>,
    /// The median of |predicted / measured - 1| over all points that have both.
    pub error: f64,
}

/// Core cycles of a step through `bytes` in random order, `element` bytes each, by the latency of
/// each level that the ladder shows and the sizes that go with them. `None` where the ladder does
/// not reach a level.
///
/// Translation is in the latencies as far as the ladder's own pages need it, and nowhere else.
pub(super) fn random_step(machine: &Machine, bytes: usize, element: usize) -> Option<f64> {
    let ranges = &machine.ranges;
    let cost = |range: Range| {
        let rungs = machine.ladder.iter();
        let inside = rungs.filter(|rung| range.holds(rung.working_set));
        let mut costs: Vec<f64> = inside.map(|rung| rung.cost.middle()).collect();
        costs.sort_by(f64::total_cmp);
        median(&costs)
    };
    let level = |index: usize, range, placement| {
        let reported = machine.data_cache(index as u8 + 1);
        let ways = reported.and_then(|cache| cache.ways).unwrap_or(16);
        let capacity = ranges.capacities.get(index)?;
        // Where CPUID tells and the ladder agrees, the size is exact; a share is as measured.
        let bytes = match (capacity.reported, capacity.measured) {
            (Some(reported), Some(measured)) if measured * SHARED >= reported => reported,
            _ => capacity.usable(),
        };
        Some(Level {
            bytes,
            ways: f64::from(ways),
            placement,
            cost: cost(range)?,
        })
    };
    let walk = Walk {
        levels: vec![
            level(0, ranges.l1, Placement::Even)?,
            level(1, ranges.l2, Placement::ByChance)?,
            level(2, ranges.llc, Placement::ByChance)?,
        ],
        memory: cost(ranges.memory)?,
        line: LINE as f64,
        translation: None,
    };
    Some(walk.step(bytes as f64, element as f64))
}

/// A cache that holds less than its size by this factor is one of which we have a share.
const SHARED: f64 = 1.5;

/// What is predicted for the points of an experiment, if anything is. Core cycles and nanoseconds
/// alone can be told.
pub fn prediction(experiment: &Experiment, evidence: &Evidence<'_>) -> Option<Prediction> {
    let machine = evidence.machine;
    let mut curves: Vec<Curve> = Vec::new();
    let mut errors = Vec::new();
    for case in (experiment.cases)(machine) {
        let Some(cycles) = case.setup.predict(machine) else {
            continue;
        };
        let same = |point: &&super::Point| point.series == case.series && point.x == case.x;
        let Some(point) = evidence.points.iter().find(same) else {
            continue;
        };
        let State::Measured(measured) = &point.state else {
            continue;
        };
        let value = match evidence.unit {
            Unit::CoreCycles => cycles,
            Unit::Nanoseconds => cycles / measured.core_per_tick? / machine.rate.hz() * 1e9,
            _ => return None,
        };
        let at = measured.interval(evidence.unit, machine.rate)?.middle();
        errors.push((value / at - 1.0).abs());
        let place = (case.x, Interval::exact(value));
        match curves.iter_mut().find(|curve| curve.label == case.series) {
            Some(curve) => curve.points.push(place),
            None => curves.push(Curve {
                label: case.series,
                points: vec![place],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    errors.sort_by(f64::total_cmp);
    let error = median(&errors)?;
    Some(Prediction { curves, error })
}
