//! The claims that are undecided, and the points that would decide them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::record::PointLine;
use crate::experiment::{
    Case, Claim, Doubt, Evidence, Experiment, Kind, Machine, Point, Range, Verdict, all,
    mark_remote, merged_by_number,
};
use crate::order::{greatest_first, least_first};

/// The points of experiments in the order of the registry, with all passes merged.
pub type Measured = Vec<(&'static Experiment, Vec<Point>)>;

/// Returns the points of `lines` by the id of their experiment, with all passes merged.
pub(super) fn points_by_id<'l>(
    lines: impl IntoIterator<Item = &'l PointLine>,
) -> HashMap<&'l str, Vec<Point>> {
    let mut points: HashMap<&str, Vec<(Option<u32>, Point)>> = HashMap::new();
    for line in lines {
        let of = points.entry(&line.experiment).or_default();
        of.push((Some(line.pass), line.point.clone()));
    }
    mark_remote(points.values_mut().flatten().map(|(_, point)| point));
    let each = points.into_iter();
    each.map(|(id, points)| (id, merged_by_number(points))).collect()
}

/// Returns the experiments that have points in `lines`, with these points.
pub fn experiments_of<'l>(lines: impl IntoIterator<Item = &'l PointLine>) -> Measured {
    let mut points = points_by_id(lines);
    let measured = |of: &'static Experiment| Some((of, points.remove(of.id)?));
    all().into_iter().filter_map(measured).collect()
}

/// An undecided claim and the points that it depends on.
#[derive(Clone, Debug)]
pub struct Undecided {
    pub experiment: &'static Experiment,
    /// The claim's id.
    pub claim: &'static str,
    /// The largest factor of `SHARES` that decides the claim when the widths of all intervals are multiplied
    /// by it and their middles stay the same. 0 if no factor decides the claim.
    pub share: f64,
    /// The points, by series and x.
    points: Vec<(String, f64)>,
    /// The [cost](Case::cost) of measuring them once.
    cost: f64,
}

impl Undecided {
    /// Returns the cases of these points, and the cases that are interleaved with them.
    pub fn cases<'c>(&self, of_experiment: &'c [Case]) -> Vec<&'c Case> {
        chosen(&self.points, of_experiment)
    }
}

/// Returns the cases of `points`, and the cases that are interleaved with them.
fn chosen<'c>(points: &[(String, f64)], of_experiment: &'c [Case]) -> Vec<&'c Case> {
    let marked = of_experiment.iter().zip(marked(points, of_experiment));
    let marked = marked.filter(|(_, marked)| *marked);
    marked.map(|(case, _)| case).collect()
}

/// Marks the cases of `points`, and the cases that are interleaved with them.
fn marked(points: &[(String, f64)], of_experiment: &[Case]) -> Vec<bool> {
    let is_read = |case: &Case| {
        let mut points = points.iter();
        points.any(|(series, x)| case.series == *series && case.x == *x)
    };
    let in_turn = |one: &Case, next: &Case| one.in_turn && next.in_turn && one.x == next.x;
    let turns = of_experiment.chunk_by(in_turn);
    let each = turns.flat_map(|turn| core::iter::repeat_n(turn.iter().any(is_read), turn.len()));
    each.collect()
}

/// Factors by which the widths of intervals are multiplied on trial.
const SHARES: [f64; 4] = [0.7, 0.4, 0.2, 0.1];

/// Factor by which intervals are widened to find out whether a claim depends on them.
const WIDER: f64 = 3.0;

/// Returns the undecided measured claims in descending order of `share`: the claims that need the fewest
/// passes come first. Of claims with the same share, the cheapest come first, because the time may not suffice for
/// all. `uncertain` is the range of working sets that may or may not fit the last level.
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
            let evidence = Evidence::new(machine, &points, experiment.unit());
            let evidence = Evidence { uncertain, ..evidence };
            let open = |claim| open(experiment, evidence, claim);
            found.extend(experiment.claims.iter().filter_map(open));
        }
    }
    least_first(&mut found, |of| of.cost);
    greatest_first(&mut found, |of| of.share);
    found
}

/// Returns whether every case of an experiment has a point.
pub fn is_whole(experiment: &Experiment, machine: &Machine, points: &[Point]) -> bool {
    let cases = (experiment.cases)(machine);
    let has_point = |case: &Case| points.iter().any(|point| case.is_at(point));
    cases.iter().all(has_point)
}

/// Returns the points of an experiment with `doubt` applied, as its claims are judged on them.
pub fn in_doubt(
    experiment: &'static Experiment,
    machine: &Machine,
    doubt: &Doubt,
    points: &[Point],
) -> Vec<Point> {
    let cases = (experiment.cases)(machine);
    let in_doubt = |point: &Point| {
        let case = cases.iter().find(|case| case.is_at(point));
        doubt.apply(experiment, machine, point, case.map_or(0, |case| case.setup.bytes()))
    };
    points.iter().map(in_doubt).collect()
}

/// Returns a claim and the points that it depends on, if the claim is measured and undecided.
fn open(
    experiment: &'static Experiment,
    evidence: Evidence<'_>,
    claim: &'static Claim,
) -> Option<Undecided> {
    let points = evidence.points;
    let decide = |points: &[Point]| decide(claim, Evidence { points, ..evidence });
    let now = decide(points);
    if claim.kind != Kind::Measured || now.0 != Verdict::Inconclusive {
        return None;
    }
    let is_decided = |share: &f64| {
        let narrowed = points.iter().map(|point| point.narrowed(*share));
        decide(&narrowed.collect::<Vec<_>>()).0 != Verdict::Inconclusive
    };
    let share = SHARES.into_iter().find(is_decided).unwrap_or(0.0);
    let read = read(points, |points| decide(points) != now);
    let points = places(points, read);
    let cases = (experiment.cases)(evidence.machine);
    Some(Undecided {
        experiment,
        claim: claim.id,
        share,
        cost: chosen(&points, &cases).into_iter().map(Case::cost).sum(),
        points,
    })
}

/// Drops the cases of an experiment whose points need no further pass: no claim about this machine depends on
/// them, they are only drawn. Drops nothing if a case has no point yet.
pub fn keep_judged(
    experiment: &'static Experiment,
    machine: &Machine,
    points: &[Point],
    cases: &mut Vec<Case>,
) {
    if !is_whole(experiment, machine, points) {
        return;
    }
    let evidence = Evidence::new(machine, points, experiment.unit());
    let mut judged: BTreeSet<usize> = BTreeSet::new();
    let claims = experiment.claims.iter();
    for claim in claims.filter(|claim| claim.kind.is_of_this_machine()) {
        let decide = |points: &[Point]| decide(claim, Evidence { points, ..evidence });
        let now = decide(points);
        let read = read(points, |points| decide(points) != now);
        judged.extend(&read);
        // The judgement rests on the middles of intervals alone, for example on where a curve steps.
        if read.is_empty() && now.0 != Verdict::Untestable {
            judged.extend(0..points.len());
        }
    }
    let mut marked = marked(&places(points, judged), cases).into_iter();
    cases.retain(|_| marked.next().unwrap_or(true));
}

/// Returns the points with these indices by series and x.
fn places(points: &[Point], indices: impl IntoIterator<Item = usize>) -> Vec<(String, f64)> {
    indices.into_iter().map(|index| (points[index].series.clone(), points[index].x)).collect()
}

/// Returns the verdict and the numbers of a claim on this evidence.
fn decide(claim: &Claim, evidence: Evidence<'_>) -> (Verdict, String) {
    let judgement = claim.decide(&evidence);
    (judgement.verdict, judgement.numbers)
}

/// Returns the indices of the points that a claim depends on: the points whose widening changes the judgement
/// of the claim, as `changes` reports. Where only the widening of neighbours together changes the judgement
/// (steps and medians of a curve), the smallest such part of the series counts.
fn read(points: &[Point], changes: impl Fn(&[Point]) -> bool) -> Vec<usize> {
    let mut by_series: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        by_series.entry(&point.series).or_default().push(index);
    }
    let mut mixed = points.to_vec();
    let mut are_read = |of: &[usize]| {
        for &index in of {
            mixed[index] = points[index].narrowed(WIDER);
        }
        let read = changes(&mixed);
        for &index in of {
            mixed[index] = points[index].clone();
        }
        read
    };
    let mut found = Vec::new();
    for mut rest in by_series.into_values() {
        // What is found may hide what else is read, for example the median of another level.
        loop {
            let read = part_read(&rest, &mut are_read);
            if read.is_empty() {
                break;
            }
            rest.retain(|index| !read.contains(index));
            found.extend(read);
        }
    }
    found
}

/// Returns the smallest parts of `of` that `are_read`, found by halving. Nothing if the whole is not read.
fn part_read(of: &[usize], are_read: &mut impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    if of.is_empty() || !are_read(of) {
        return Vec::new();
    }
    if of.len() == 1 {
        return of.to_vec();
    }
    let (first, second) = of.split_at(of.len() / 2);
    let mut found = part_read(first, are_read);
    found.extend(part_read(second, are_read));
    if found.is_empty() { of.to_vec() } else { found }
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
                cost: 0.0,
            };
            let cases = claim.cases(&cases).into_iter();
            cases.map(|case| (case.series.clone(), case.x)).collect::<Vec<_>>()
        };
        let place = |series: &str, x| (series.to_owned(), x);
        assert_eq!(again("one", 1.0), [place("one", 1.0)]);
        assert_eq!(again("other", 2.0), [place("one", 2.0), place("other", 2.0)]);
        assert!(again("one", 4.0).is_empty());
    }
}
