//! Which claims are left open, and which points decide them.

use std::collections::{BTreeMap, HashMap};

use super::record::PointLine;
use crate::experiment::{
    Case, Claim, Doubt, Evidence, Experiment, Kind, Machine, Point, Range, Verdict, all,
    mark_remote, merged,
};
use crate::lab::rank::greatest_first;

/// The points of experiments, in the order of the registry, the passes over each merged.
pub type Measured = Vec<(&'static Experiment, Vec<Point>)>;

/// The points of lines, the passes over each merged, by the id of the experiment.
pub(super) fn points_by_id<'l>(
    lines: impl IntoIterator<Item = &'l PointLine>,
) -> HashMap<&'l str, Vec<Point>> {
    let mut points: HashMap<&str, Vec<Point>> = HashMap::new();
    for line in lines {
        let of = points.entry(&line.experiment).or_default();
        of.push(line.point.clone());
    }
    mark_remote(points.values_mut().flatten());
    let each = points.into_iter();
    each.map(|(id, points)| (id, merged(points))).collect()
}

/// The experiments that lines have points of.
pub fn experiments_of<'l>(lines: impl IntoIterator<Item = &'l PointLine>) -> Measured {
    let mut points = points_by_id(lines);
    let measured = |of: &'static Experiment| Some((of, points.remove(of.id)?));
    all().into_iter().filter_map(measured).collect()
}

/// A claim that is open, and the points that it reads.
#[derive(Clone, Debug)]
pub struct Undecided {
    /// Its experiment.
    pub experiment: &'static Experiment,
    /// Its id.
    pub claim: &'static str,
    /// The widest share of their widths at which intervals would decide it if their middles stay; 0 if
    /// none would.
    pub share: f64,
    /// The points, by series and x.
    points: Vec<(String, f64)>,
}

impl Undecided {
    /// The cases of these points, and the cases that are measured in turn with them.
    pub fn cases<'c>(&self, of_experiment: &'c [Case]) -> Vec<&'c Case> {
        let is_read = |case: &Case| {
            let mut points = self.points.iter();
            points.any(|(series, x)| case.series == *series && case.x == *x)
        };
        let in_turn = |one: &Case, next: &Case| one.in_turn && next.in_turn && one.x == next.x;
        let turns = of_experiment.chunk_by(in_turn);
        let read = turns.filter(|turn| turn.iter().any(is_read));
        read.flatten().collect()
    }
}

/// To what shares of their widths intervals are supposed to narrow.
const SHARES: [f64; 4] = [0.7, 0.4, 0.2, 0.1];

/// By how much intervals are widened to see whether a claim reads them.
const WIDER: f64 = 3.0;

/// The measured claims that are open, those first that take the fewest passes. `uncertain` are the sizes
/// at which nobody knows whether they fit the last level.
pub fn undecided(
    machine: &Machine,
    uncertain: Option<Range>,
    doubt: &Doubt,
    experiments: &Measured,
) -> Vec<Undecided> {
    let mut found = Vec::new();
    for (experiment, points) in experiments {
        let points = in_doubt(experiment, machine, doubt, points);
        if is_whole(experiment, machine, &points) {
            let claims = experiment.claims.iter();
            let of =
                claims.filter_map(|claim| open(experiment, machine, uncertain, &points, claim));
            found.extend(of);
        }
    }
    greatest_first(&mut found, |of| of.share);
    found
}

/// Whether every case of an experiment has a point.
pub fn is_whole(experiment: &Experiment, machine: &Machine, points: &[Point]) -> bool {
    let cases = (experiment.cases)(machine);
    let has_point = |case: &Case| points.iter().any(|point| case.is_at(point));
    cases.iter().all(has_point)
}

/// The points of an experiment as its claims are judged on them.
pub fn in_doubt(
    experiment: &'static Experiment,
    machine: &Machine,
    doubt: &Doubt,
    points: &[Point],
) -> Vec<Point> {
    let cases = (experiment.cases)(machine);
    let in_doubt = |point: &Point| {
        let case = cases.iter().find(|case| case.is_at(point));
        doubt.apply(
            experiment,
            machine,
            point,
            case.map_or(0, |case| case.setup.bytes()),
        )
    };
    points.iter().map(in_doubt).collect()
}

/// What a claim is about, if it is measured and open.
fn open(
    experiment: &'static Experiment,
    machine: &Machine,
    uncertain: Option<Range>,
    points: &[Point],
    claim: &'static Claim,
) -> Option<Undecided> {
    let decide = |points: &[Point]| {
        let unit = experiment.unit();
        let judgement = claim.decide(&Evidence {
            machine,
            points,
            unit,
            uncertain,
        });
        (judgement.verdict, judgement.numbers)
    };
    let now = decide(points);
    if claim.kind != Kind::Measured || now.0 != Verdict::Inconclusive {
        return None;
    }
    let is_decided = |share: &f64| {
        let narrowed = points.iter().map(|point| with_width(point, *share));
        decide(&narrowed.collect::<Vec<_>>()).0 != Verdict::Inconclusive
    };
    let share = SHARES.into_iter().find(is_decided).unwrap_or(0.0);
    let read = read(points, |points| decide(points) != now);
    let place = |index: usize| (points[index].series.clone(), points[index].x);
    Some(Undecided {
        experiment,
        claim: claim.id,
        share,
        points: read.into_iter().map(place).collect(),
    })
}

/// The places of the points that a claim reads: its judgement `changes` with wider intervals of each by itself,
/// or of all of a series if of none alone, as with the steps and medians of a curve.
fn read(points: &[Point], changes: impl Fn(&[Point]) -> bool) -> Vec<usize> {
    let mut by_series: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        by_series.entry(&point.series).or_default().push(index);
    }
    let mut mixed = points.to_vec();
    let mut are_read = |of: &[usize]| {
        for &index in of {
            mixed[index] = with_width(&points[index], WIDER);
        }
        let read = changes(&mixed);
        for &index in of {
            mixed[index] = points[index].clone();
        }
        read
    };
    let mut found = Vec::new();
    for of_series in by_series.into_values() {
        if are_read(&of_series) {
            let mut alone = of_series.clone();
            alone.retain(|index| are_read(&[*index]));
            found.extend(match alone.is_empty() {
                true => of_series,
                false => alone,
            });
        }
    }
    found
}

/// The point with intervals of `share` of their widths.
fn with_width(point: &Point, share: f64) -> Point {
    let mut point = point.clone();
    if let Some(measured) = point.measured_mut() {
        measured.narrow(share);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::shared::arithmetic::RegisterSetup;

    #[test]
    fn what_is_compared_in_turn_is_measured_again_in_turn() {
        let case = |series: &str, x: f64| Case::new(series, x, RegisterSetup);
        let turn = |series, x| case(series, x).in_turn();
        let cases = [
            case("one", 1.0),
            case("other", 1.0),
            turn("one", 2.0),
            turn("other", 2.0),
            turn("one", 3.0),
            turn("other", 3.0),
        ];
        let again = |series: &str, x: f64| {
            let experiment = all()[0];
            let claim = Undecided {
                experiment,
                claim: experiment.claims[0].id,
                share: 0.0,
                points: vec![(series.to_owned(), x)],
            };
            let cases = claim.cases(&cases).into_iter();
            cases
                .map(|case| (case.series.clone(), case.x))
                .collect::<Vec<_>>()
        };
        let place = |series: &str, x| (series.to_owned(), x);
        assert_eq!(again("one", 1.0), [place("one", 1.0)]);
        assert_eq!(
            again("other", 2.0),
            [place("one", 2.0), place("other", 2.0)]
        );
        assert!(again("one", 4.0).is_empty());
    }
}
