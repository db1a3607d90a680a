//! What a record comes to. Derived once: the report, the tables, comparisons and the machine sheet
//! ask it.

use std::collections::HashMap;

use super::consistency::{Disagreement, disagreements, share};
use super::inferred::Inferred;
use super::machine::machine_of;
use super::record::{MACHINE, Record, VerdictLine};
use super::selection::select;
use super::sheet::{self, Row};
use crate::experiment::{
    Claim, Curve, Doubt, Evidence, Experiment, Judgement, Machine, Outcome, Point, Prediction,
    Range, Verdict, all, mark_remote, merged, prediction,
};
use crate::stats::Interval;

/// Why the claims of an experiment whose points are not all there are not judged: a curve that
/// ends early could make a claim about its end fail, or hold, for no reason.
const UNFINISHED: &str = "not measured to its end (run stopped)";

/// A record, and all that follows from it.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The record.
    pub record: Record,
    /// The machine.
    pub machine: Machine,
    /// The points of the ladder, and of what else predictions want to know.
    pub ladder: Vec<Point>,
    /// What the curves tell of the machine.
    pub inferred: Inferred,
    /// The experiments that have points, and those that were asked for and have no case on this machine,
    /// in the order of the registry.
    pub answers: Vec<Answer>,
    /// The verdicts on all their claims.
    pub verdicts: Vec<VerdictLine>,
    /// Quantities of which experiments tell different values.
    pub disagreements: Vec<Disagreement>,
}

/// An experiment, and what its points come to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Its points, the passes over each merged.
    pub points: Vec<Point>,
    /// Its curves, in its unit.
    pub curves: Vec<Curve>,
    /// Its claims, in their order: with the record's verdict, or where it has none, because the run was
    /// stopped first, with that of the points.
    pub claims: Vec<VerdictLine>,
    /// The points whose passes were in two steady states: claims on them hold if they hold in both.
    pub states: Vec<TwoStates>,
    /// What the machine's parameters predict, if a curve has points and a model is known.
    pub prediction: Option<Prediction>,
}

/// A point whose passes were in two steady states.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoStates {
    /// Its series,
    pub series: String,
    /// and its place on the horizontal axis.
    pub x: f64,
    /// Its values in nanoseconds, the smaller first.
    pub nanoseconds: [Interval; 2],
}

impl Analysis {
    /// Derives everything that follows from a record.
    pub fn of(record: Record) -> Self {
        let mut points: HashMap<&str, Vec<Point>> = HashMap::new();
        for line in &record.points {
            let of = points.entry(&line.experiment).or_default();
            of.push(line.point.clone());
        }
        mark_remote(points.values_mut().flatten());
        let mut measured = |id: &str| merged(points.remove(id).unwrap_or_default());
        let ladder = measured(MACHINE);
        let machine = machine_of(&record.header, &ladder);
        // A selection that this version does not know adds nothing to what was measured.
        let asked = select(&record.header.selection).unwrap_or_default();
        let unmeasurable = |experiment: &Experiment| {
            let asked = asked.iter().any(|of| of.id == experiment.id);
            asked && (experiment.cases)(&machine).is_empty()
        };
        let experiments = all().into_iter().map(|of| (of, measured(of.id)));
        let there =
            |(of, points): &(&Experiment, Vec<Point>)| !points.is_empty() || unmeasurable(of);
        let experiments: Vec<_> = experiments.filter(there).collect();

        let doubt = Doubt::of(&machine, &experiments);
        let apart = disagreements(&machine, &ladder, &experiments);
        let uncertain = share(&machine, &ladder, &experiments);
        let inferred = Inferred::of(&machine, &ladder, |id| {
            let found = experiments.iter().find(|(of, _)| of.id == id);
            match id {
                MACHINE => &ladder,
                _ => found.map_or(&[], |(_, points)| points),
            }
        });
        let mut answers: Vec<Answer> = Vec::new();
        for (experiment, points) in experiments {
            let recorded = |line: &&VerdictLine| line.experiment == experiment.id;
            let recorded: Vec<_> = record.verdicts.iter().filter(recorded).collect();
            let in_doubt = in_doubt(experiment, &machine, &doubt, &points);
            let decided = judge(experiment, &machine, uncertain, &in_doubt);
            let states = two_states(&machine, &in_doubt);
            let answer = Answer::of(experiment, points, decided, &recorded, &machine);
            answers.push(Answer { states, ..answer });
        }
        Analysis {
            disagreements: apart,
            machine,
            ladder,
            inferred,
            verdicts: answers.iter().flat_map(|of| of.claims.clone()).collect(),
            answers,
            record,
        }
    }

    /// What an experiment came to, by its id.
    pub fn answer(&self, id: &str) -> Option<&Answer> {
        self.answers
            .iter()
            .find(|answer| answer.experiment.id == id)
    }

    /// The predictions, with their experiments.
    pub fn predictions(&self) -> impl Iterator<Item = (&'static Experiment, &Prediction)> {
        let answers = self.answers.iter();
        answers.filter_map(|answer| Some((answer.experiment, answer.prediction.as_ref()?)))
    }

    /// What they come to, each set-up counted once.
    pub fn predicted(&self) -> Option<Outcome> {
        Outcome::of(self.predictions().map(|(_, of)| of))
    }

    /// The machine sheet.
    pub fn sheet(&self) -> Vec<Row> {
        sheet::sheet(
            &self.record.header,
            &self.machine,
            &self.ladder,
            &self.inferred,
        )
    }
}

impl Answer {
    /// `recorded` are the record's verdicts on the experiment, `decided` those of the points.
    fn of(
        experiment: &'static Experiment,
        points: Vec<Point>,
        decided: Vec<VerdictLine>,
        recorded: &[&VerdictLine],
        machine: &Machine,
    ) -> Self {
        let last = |decided: VerdictLine| {
            let same = |line: &&&VerdictLine| line.is_on(&decided);
            let found = recorded.iter().rev().find(same);
            found.map_or(decided, |&line| line.clone())
        };
        let evidence = Evidence::new(machine, &points, experiment.unit());
        let curves = (experiment.curves)(&evidence);
        let drawn = curves.iter().any(|curve| !curve.points.is_empty());
        Answer {
            experiment,
            curves,
            claims: decided.into_iter().map(last).collect(),
            states: Vec::new(),
            prediction: drawn.then(|| prediction(experiment, &evidence)).flatten(),
            points,
        }
    }
}

/// The points of an experiment as its claims are judged on them.
fn in_doubt(
    experiment: &Experiment,
    machine: &Machine,
    doubt: &Doubt,
    points: &[Point],
) -> Vec<Point> {
    let cases = (experiment.cases)(machine);
    let in_doubt = |point: &Point| {
        let case = cases.iter().find(|case| case.is_at(point));
        doubt.apply(machine, point, case.map_or(0, |case| case.setup.bytes()))
    };
    points.iter().map(in_doubt).collect()
}

/// Those of them that were in two steady states.
fn two_states(machine: &Machine, in_doubt: &[Point]) -> Vec<TwoStates> {
    let states = |point: &Point| {
        let ticks = point.measured()?.confidence?.states?;
        Some(TwoStates {
            series: point.series.clone(),
            x: point.x,
            nanoseconds: ticks.map(|state| state.scaled(1e9 / machine.rate.hz())),
        })
    };
    in_doubt.iter().filter_map(states).collect()
}

/// The verdicts on an experiment's claims by its points as they are judged, in order. A disturbed point
/// decides as little as possible.
fn judge(
    experiment: &Experiment,
    machine: &Machine,
    uncertain: Option<Range>,
    points: &[Point],
) -> Vec<VerdictLine> {
    let cases = (experiment.cases)(machine);
    let evidence = Evidence {
        machine,
        points,
        unit: experiment.unit(),
        uncertain,
    };
    let whole = cases
        .iter()
        .all(|case| points.iter().any(|point| case.is_at(point)));
    let decide = |claim: &Claim| {
        let judgement = match whole {
            true => claim.decide(&evidence),
            false => Judgement::in_words(Verdict::Untestable, UNFINISHED.to_owned()),
        };
        VerdictLine::new(experiment, claim, judgement)
    };
    experiment.claims.iter().map(decide).collect()
}
