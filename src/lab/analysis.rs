//! Derives everything that follows from a record, once for the report, the tables, comparisons and the
//! machine sheet. `points_by_experiment` gives the points and curves alone.

use std::collections::HashMap;

use super::consistency::{Disagreement, disagreements, share};
use super::inferred::Inferred;
use super::quiet::{Disturbed, Quiet};
use super::record::{MACHINE, PointLine, Record, VerdictLine};
use super::selection::select;
use super::sheet::{self, Row};
use super::undecided::{Measured, experiments_of, in_doubt, is_whole, points_by_id};
use crate::experiment::{
    Axis, Claim, Curve, Doubt, Evidence, Experiment, Judgement, Judging, Kind, LADDER, LOOKS,
    Machine, Outcome, Plot, Point, Prediction, Range, Unit, Verdict, all, possible, prediction,
};
use crate::order;
use crate::recorded::machine_of;
use crate::stats::Interval;

/// The reason given for the untestable claims of an experiment with missing points. A curve that ends early
/// could decide a claim wrongly.
const UNFINISHED: &str = "not measured to its end: the run was stopped, its time (--budget) was \
                          over, or another version of linefill made it, with fewer cases";

/// Returns whether a claim is untestable because its experiment has missing points: it was not judged.
pub(crate) fn is_unfinished(line: &VerdictLine) -> bool {
    line.verdict == Verdict::Untestable && line.numbers == UNFINISHED
}

/// A record and everything that follows from it.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub record: Record,
    pub machine: Machine,
    /// The points of the ladder, and of the other series that predictions use.
    pub ladder: Vec<Point>,
    /// The machine's parameters, read off the curves.
    pub inferred: Inferred,
    /// The experiments that have points, and the experiments that were selected but have no case on this
    /// machine, in the order of the registry.
    pub answers: Vec<Answer>,
    /// The verdicts on all claims of `answers`.
    pub verdicts: Vec<VerdictLine>,
    /// Quantities for which experiments found different values.
    pub disagreements: Vec<Disagreement>,
    /// The range of working sets that may or may not stay in the last level, if there is such a range.
    pub uncertain: Option<Range>,
    /// The number of the record's verdicts that stand for no verdict on today's claims, because another version
    /// of linefill made the record. Today's claims are then judged on the points.
    pub outdated: usize,
}

/// An experiment and everything that follows from its points.
#[derive(Clone, Debug)]
pub struct Answer {
    pub experiment: &'static Experiment,
    /// The points, with all passes merged.
    pub points: Vec<Point>,
    /// The curves, in the experiment's unit.
    pub curves: Vec<Curve>,
    /// The verdicts on the claims, in the claims' order. Each is the record's verdict, or, if the run was
    /// stopped before it wrote one, the verdict that the points give.
    pub claims: Vec<VerdictLine>,
    /// The points whose passes were in two steady states. A claim about such a point holds only if it holds
    /// in both states.
    pub states: Vec<TwoStates>,
    /// The prediction from the machine's parameters, if a curve has points and a model is known.
    pub prediction: Option<Prediction>,
}

/// A point whose passes were in two steady states.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoStates {
    pub series: String,
    /// The position on the horizontal axis.
    pub x: f64,
    /// The values of the two states in nanoseconds, the smaller first.
    pub nanoseconds: [Interval; 2],
}

/// Returns whether the run was stopped before it measured anything but the ladder, which may then be cut off.
fn is_cut_off(record: &Record) -> bool {
    let stopped = record.end.as_ref().is_some_and(|end| end.interrupted);
    let of_ladder = |line: &PointLine| line.experiment == MACHINE;
    stopped && record.rounds.is_empty() && record.points.iter().all(of_ladder)
}

impl Analysis {
    /// Derives everything that follows from a record. Its verdict on a claim of today stands, in the words of the
    /// version that made the record.
    pub fn of(record: Record) -> Self {
        Self::with(record, VerdictLine::is_on)
    }

    /// Derives everything that follows from a record that is compared with others. Its verdict on a claim stands if
    /// the claim has the same words today. Otherwise the points are judged anew: side by side, all verdicts
    /// are on one text.
    pub fn in_the_words_of_today(record: Record) -> Self {
        Self::with(record, VerdictLine::agrees_on_the_claim_with)
    }

    /// Derives everything that follows from a record. `same` is whether a verdict of the record stands for a
    /// verdict on a claim of today.
    fn with(record: Record, same: fn(&VerdictLine, &VerdictLine) -> bool) -> Self {
        let mut points = points_by_id(&record.points);
        let mut measured = |id: &str| points.remove(id).unwrap_or_default();
        let mut ladder: Vec<Point> = measured(MACHINE).into_iter().map(possible).collect();
        if is_cut_off(&record) {
            // Its end would look like the end of a cache.
            ladder.clear();
        }
        let machine = machine_of(&record.header, &ladder);
        // A selection that this version does not know adds nothing to the measured experiments.
        let asked = select(&record.header.selection).unwrap_or_default();
        let unmeasurable = |experiment: &Experiment| {
            let asked = asked.iter().any(|of| of.id == experiment.id);
            asked && (experiment.cases)(&machine).is_empty()
        };
        let mut experiments = all().into_iter().map(|of| (of, measured(of.id))).collect::<Vec<_>>();
        experiments.retain(|(of, points)| !points.is_empty() || unmeasurable(of));

        let judged = if record.header.passes == 0 { Judging::Only } else { Judging::Last };
        let doubt = Doubt::of(&machine, &experiments).judged(judged);
        let apart = disagreements(&machine, &ladder, &experiments);
        let uncertain = share(&machine, &ladder, &experiments);
        let earlier = earlier_looks(&record, &machine, uncertain, &doubt, &experiments);
        let inferred = Inferred::of(&machine, &ladder, |id| {
            let found = experiments.iter().find(|(of, _)| of.id == id);
            match id {
                MACHINE => &ladder,
                _ => found.map_or(&[], |(_, points)| points),
            }
        });
        let mut answers: Vec<Answer> = Vec::new();
        for (experiment, points) in experiments {
            let in_doubt = in_doubt(experiment, &machine, &doubt, &points);
            let mut decided = judge(experiment, &machine, uncertain, &in_doubt);
            decided_in(&mut decided, &earlier, &points);
            let stored = record.verdicts.iter().rev().filter(|of| of.experiment == experiment.id);
            let last = |decided: VerdictLine| match stored.clone().find(|of| same(of, &decided)) {
                Some(line) => line.completed_by(decided),
                None => decided,
            };
            let evidence = Evidence::new(&machine, &points, experiment.unit());
            let curves = (experiment.curves)(&evidence);
            let drawn = curves.iter().any(|curve| !curve.points.is_empty());
            answers.push(Answer {
                experiment,
                curves,
                claims: decided.into_iter().map(last).collect(),
                states: two_states(&machine, &in_doubt),
                prediction: drawn.then(|| prediction(experiment, &evidence)).flatten(),
                points,
            });
        }
        let verdicts: Vec<_> = answers.iter().flat_map(|of| of.claims.clone()).collect();
        let outdated = |stored: &&VerdictLine| !verdicts.iter().any(|of| same(stored, of));
        Analysis {
            disagreements: apart,
            uncertain,
            machine,
            ladder,
            inferred,
            outdated: record.verdicts.iter().filter(outdated).count(),
            verdicts,
            answers,
            record,
        }
    }

    /// Returns the answer for the experiment with this id.
    pub fn answer(&self, id: &str) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.experiment.id == id)
    }

    pub fn predictions(&self) -> impl Iterator<Item = (&'static Experiment, &Prediction)> {
        let answers = self.answers.iter();
        answers.filter_map(|answer| Some((answer.experiment, answer.prediction.as_ref()?)))
    }

    /// Summarises how accurate the predictions are. Each set-up counts once.
    pub fn predicted(&self) -> Option<Outcome> {
        Outcome::of(self.predictions().map(|(_, of)| of))
    }

    pub fn sheet(&self) -> Vec<Row> {
        let header = &self.record.header;
        let mut rows =
            sheet::sheet(header, &self.machine, &self.ladder, &self.inferred, self.uncertain);
        rows.extend(sheet::isolation(header, self.quiet()));
        rows
    }

    /// Returns how often the measuring CPU was disturbed while it sampled, if it was isolated.
    pub(crate) fn quiet(&self) -> Option<Quiet> {
        Quiet::of(&self.record.header, &self.record.points)
    }

    /// Returns how many samples were disturbed; `None` if the record has no samples.
    pub(crate) fn disturbed(&self) -> Option<Disturbed> {
        Disturbed::of(&self.record.points)
    }
}

/// The verdicts of a look by the claims' ids, with the number of passes before the look.
type Look = (u32, HashMap<String, Verdict>);

/// Judges the claims at each look before the last one for which the record has passes.
fn earlier_looks(
    record: &Record,
    machine: &Machine,
    uncertain: Option<Range>,
    doubt: &Doubt,
    experiments: &Measured,
) -> Vec<Look> {
    let passes = |points: &[Point]| points.iter().filter_map(passes_of).max().unwrap_or(0);
    let most = experiments.iter().map(|(_, points)| passes(points)).max();
    let looks = LOOKS.into_iter().filter(|look| Some(*look) < most);
    let looks = looks.filter(|_| record.header.passes > 0);
    let doubt = &doubt.clone().judged(Judging::Look);
    let verdicts = |look: u32| {
        let lines = record.points.iter().filter(|line| line.pass < look);
        let judged = experiments_of(lines).into_iter().flat_map(|(of, points)| {
            judge(of, machine, uncertain, &in_doubt(of, machine, doubt, &points))
        });
        let verdicts = judged.map(|line| (line.id, line.verdict)).collect();
        (look, verdicts)
    };
    looks.map(verdicts).collect()
}

/// Returns the number of passes over a point.
fn passes_of(point: &Point) -> Option<u32> {
    let passes = point.measured()?.passes.len();
    u32::try_from(passes.max(1)).ok()
}

/// Sets the number of passes after which each measured claim was decided: the passes of the earliest look
/// from which the verdict no longer changed.
fn decided_in(decided: &mut [VerdictLine], earlier: &[Look], points: &[Point]) {
    let last = points.iter().filter_map(passes_of).max();
    for line in decided {
        let is_decided = line.verdict.is_decided();
        if line.found == Some(Kind::Measured) && is_decided {
            let same = |(_, verdicts): &&Look| verdicts.get(&line.id) == Some(&line.verdict);
            let first = earlier.iter().rev().take_while(same).last();
            line.passes = first.map(|(passes, _)| *passes).or(last);
        }
    }
}

/// Returns the points with two steady states among the points that claims are judged on.
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

/// Judges the claims of an experiment in order. `points` have their doubt applied: the intervals of disturbed
/// points decide as little as possible.
fn judge(
    experiment: &Experiment,
    machine: &Machine,
    uncertain: Option<Range>,
    points: &[Point],
) -> Vec<VerdictLine> {
    let evidence = Evidence { machine, points, unit: experiment.unit(), uncertain };
    let whole = is_whole(experiment, machine, points);
    let decide = |claim: &Claim| {
        let judgement = match whole {
            true => claim.decide(&evidence),
            false => Judgement::in_words(Verdict::Untestable, UNFINISHED.to_owned()),
        };
        VerdictLine::new(experiment, claim, judgement)
    };
    experiment.claims.iter().map(decide).collect()
}

/// The points of an experiment, with all passes merged.
pub(crate) struct ExperimentPoints<'r> {
    /// The experiment's id.
    pub id: &'r str,
    /// The experiment; `None` for the ladder and for an experiment that this version does not know.
    pub experiment: Option<&'static Experiment>,
    pub points: Vec<Point>,
}

/// Returns the machine and what was measured: the ladder, the experiments in the order of the registry, then
/// the experiments that this version does not know.
pub(crate) fn points_by_experiment(record: &Record) -> (Machine, Vec<ExperimentPoints<'_>>) {
    let by_id = points_by_id(&record.points);
    let ladder = by_id.get(MACHINE).map_or(&[][..], Vec::as_slice);
    let machine = machine_of(&record.header, ladder);
    let known = all();
    let found = by_id.into_iter().map(|(id, points)| {
        let experiment = known.iter().find(|of| of.id == id).copied();
        ExperimentPoints { id, experiment, points }
    });
    let mut found: Vec<_> = found.collect();
    let place = |of: &ExperimentPoints<'_>| match of.id {
        MACHINE => 0,
        id => known.iter().position(|row| row.id == id).unwrap_or(known.len()) + 1,
    };
    order::by(&mut found, |a, b| place(a).cmp(&place(b)).then(a.id.cmp(b.id)));
    (machine, found)
}

impl ExperimentPoints<'_> {
    /// Returns the curves and their unit. The unit of the ladder is nanoseconds if the clock rate of the core
    /// is not known.
    pub fn curves(&self, machine: &Machine) -> (Vec<Curve>, Unit) {
        let Some(experiment) = self.experiment else { return self.ladder(machine) };
        let evidence = Evidence::new(machine, &self.points, experiment.unit());
        let unit = self.plot().map_or(Unit::CoreCycles, |plot| plot.unit);
        ((experiment.curves)(&evidence), unit)
    }

    /// Returns how the experiment is plotted, if it is.
    pub fn plot(&self) -> Option<Plot> {
        self.experiment.and_then(|of| of.plot)
    }

    pub fn axis(&self) -> Option<Axis> {
        match self.id {
            MACHINE => Some(Axis::WORKING_SET),
            _ => self.plot().map(|plot| plot.x),
        }
    }

    fn ladder(&self, machine: &Machine) -> (Vec<Curve>, Unit) {
        for unit in [Unit::CoreCycles, Unit::Nanoseconds] {
            let evidence = Evidence::new(machine, &self.points, unit);
            if let Ok(points) = evidence.series(LADDER) {
                let label = LADDER.to_owned();
                return (vec![Curve { label, points }], unit);
            }
        }
        (Vec::new(), Unit::CoreCycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{State, Untestable};
    use crate::lab::record::EndLine;
    use crate::lab::watch::planted;

    #[test]
    fn a_ladder_that_was_cut_off_says_nothing() {
        let mut record = planted(0, |_| 1.0);
        let rungs = |record: &Record, interrupted| {
            let seconds = 1.0;
            let end = Some(EndLine { seconds, interrupted });
            let record = Record { end, ..record.clone() };
            Analysis::of(record).ladder.len()
        };
        assert!(rungs(&record, false) > 0);
        assert_eq!(rungs(&record, true), 0);
        // What follows the ladder proves that it was measured to its end.
        let mut point = record.points[0].clone();
        point.experiment = "D14".to_owned();
        record.points.push(point);
        assert!(rungs(&record, true) > 0);
    }

    #[test]
    fn a_ladder_that_was_refused_passes_on_its_reason() {
        let mut record = planted(0, |_| 1.0);
        let reason = Untestable("no 1 GiB pages".to_owned());
        for line in &mut record.points {
            line.point.state = State::Untestable(reason.clone());
        }
        let machine = Analysis::of(record).machine;
        assert_eq!(machine.access_in(machine.ranges.l2).unwrap_err(), reason);
    }
}
