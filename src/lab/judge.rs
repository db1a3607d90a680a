//! Verdicts as a record keeps them.

use super::convert::{ladder_of, machine_of, points_of};
use super::record::{Line, VerdictLine};
use crate::experiment::{
    Case, Claim, CoreDistances, Evidence, Experiment, Judgement, Machine, PassVariation, Point,
    State, Verdict, all,
};

/// Why the claims of an experiment whose points are not all there are not judged: a curve that
/// ends early could make a claim about its end fail, or hold, for no reason.
const UNFINISHED: &str = "not measured to its end (run stopped)";

/// The judgements of an experiment's claims on its `points`, in order. What could only be measured
/// beside somebody else decides as little as it may.
pub fn judge(experiment: &Experiment, machine: &Machine, points: &[Point]) -> Vec<Judgement> {
    let cases = (experiment.cases)(machine);
    let same = |point: &Point, case: &Case| point.series == case.series && point.x == case.x;
    let in_doubt = |point: &Point| {
        let case = cases.iter().find(|case| same(point, case));
        let bytes = case.map_or(0, |case| case.setup.bytes());
        let point = machine.spread.doubt(machine, point, bytes);
        machine.ways.doubt(&point).in_doubt()
    };
    let in_doubt: Vec<Point> = points.iter().map(in_doubt).collect();
    let evidence = Evidence {
        machine,
        points: &in_doubt,
        unit: experiment.unit(),
    };
    let whole = cases
        .iter()
        .all(|case| points.iter().any(|point| same(point, case)));
    let decide = |claim: &Claim| {
        if whole {
            claim.decide(&evidence)
        } else {
            Judgement {
                verdict: Verdict::Untestable,
                numbers: UNFINISHED.to_owned(),
            }
        }
    };
    experiment.claims.iter().map(decide).collect()
}

/// The machine with what the points that experiments have by their ids make doubtful: how much their
/// passes differ, and how near its CPUs were to each other.
pub fn doubts(machine: Machine, points: impl Fn(&str) -> Vec<Point>) -> Machine {
    let points = all().into_iter().map(|of| (of, points(of.id)));
    let points: Vec<_> = points.filter(|(_, points)| !points.is_empty()).collect();
    let all = points.iter().flat_map(|(_, points)| points);
    let crews = all.filter_map(|point| match &point.state {
        State::Measured(measured) => measured.crew,
        _ => None,
    });
    Machine {
        ways: CoreDistances::of(crews),
        spread: PassVariation::of(&machine, points),
        ..machine
    }
}

/// The same as lines of a record.
pub fn verdicts(experiment: &Experiment, machine: &Machine, points: &[Point]) -> Vec<VerdictLine> {
    judge(experiment, machine, points)
        .into_iter()
        .zip(experiment.claims)
        .map(|(judgement, claim)| VerdictLine {
            experiment: experiment.id.to_owned(),
            claim: claim.text.to_owned(),
            verdict: judgement.verdict.name().to_owned(),
            numbers: judgement.numbers,
        })
        .collect()
}

/// The verdicts of a record: those that were decided when the run ended, and for an experiment
/// without any, because the run was killed first, those that its points come to.
pub fn of_record(lines: &[Line]) -> Vec<VerdictLine> {
    let mut verdicts: Vec<VerdictLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Verdict(verdict) => Some(verdict.clone()),
            _ => None,
        })
        .collect();
    let Some(Line::Header(header)) = lines.first() else {
        return verdicts;
    };
    let machine = doubts(machine_of(header, &ladder_of(lines)), |id| {
        points_of(lines, id)
    });
    for experiment in all() {
        let points = points_of(lines, experiment.id);
        let decided = verdicts.iter().any(|line| line.experiment == experiment.id);
        if !points.is_empty() && !decided {
            verdicts.extend(self::verdicts(experiment, &machine, &points));
        }
    }
    verdicts
}
