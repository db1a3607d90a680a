//! A record as a report shows it.

use core::fmt;

use super::counted::{counted, uncounted};
use super::facts::{facts, machine_name};
use super::view::{
    AxisView, ClaimView, CurveView, Figure, Form, PredictionView, ReferenceView, ReportView, Rule,
    Section, UntestableView, Value,
};
use crate::experiment::{
    Axis, Curve, Evidence, Experiment, Machine, Plot, Point, Prediction, Shape, State, Unit,
    Untestable, Verdict, all, prediction,
};
use crate::lab::convert::{ladder_of, machine_of, points_of};
use crate::lab::date::Date;
use crate::lab::inferred::Inferred;
use crate::lab::judge::{doubts, judge};
use crate::lab::record::{EndLine, Header, Line, MACHINE, Outcome, VerdictLine};
use crate::lab::reference::{
    ReferenceError, {self},
};
use crate::lab::sheet::{level_name, sheet};
use crate::lab::size::show;
use crate::stats::{Interval, NOISY};

/// Why a record gives no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportError {
    /// It has no header line, and so no machine.
    NoHeader,
    /// An experiment asks for numbers that `reference/` does not have.
    Reference(ReferenceError),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::NoHeader => {
                f.write_str("the record has no header line, which names the machine")
            }
            ReportError::Reference(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ReportError {}

impl From<ReferenceError> for ReportError {
    fn from(error: ReferenceError) -> Self {
        ReportError::Reference(error)
    }
}

/// What a report of these lines shows: every experiment that has points, in the order of the
/// registry. A verdict is the record's own; a claim for which the record has none, because the run
/// was stopped first, is decided from the points.
///
/// # Errors
/// If the record has no header.
pub fn of_record(lines: &[Line]) -> Result<ReportView, ReportError> {
    let header = lines.iter().find_map(|line| match line {
        Line::Header(header) => Some(&**header),
        _ => None,
    });
    let header = header.ok_or(ReportError::NoHeader)?;
    let end = lines.iter().rev().find_map(|line| match line {
        Line::End(end) => Some(end),
        _ => None,
    });
    let ladder = ladder_of(lines);
    let machine = doubts(machine_of(header, &ladder), |id| points_of(lines, id));
    let inferred = Inferred::of(&machine, &ladder, |id| points_of(lines, id));
    let mut sections = Vec::new();
    let mut run = Vec::new();
    let mut not_run = Vec::new();
    for experiment in all() {
        let points = points_of(lines, experiment.id);
        if points.is_empty() {
            not_run.push((experiment.id.to_owned(), experiment.title.to_owned()));
        } else {
            sections.push(section(experiment, &machine, &points, lines)?);
            run.push(experiment);
        }
    }
    let mut notes = notes(header, end, lines);
    notes.extend(uncounted(&run, &machine.counting));
    Ok(ReportView {
        machine: machine_name(header),
        date: Date::from_unix(header.started).to_string(),
        facts: facts(header, end),
        notes,
        sheet: sheet(header, &machine, &ladder, &inferred),
        sections,
        not_run,
    })
}

/// How many samples were disturbed, if it is more than one in a hundred.
fn disturbed(lines: &[Line]) -> Option<String> {
    let samples = lines.iter().filter_map(|line| match line {
        Line::Point(point) => match &point.outcome {
            Outcome::Timed(timed) => Some(&timed.samples),
            _ => None,
        },
        _ => None,
    });
    let (mut all, mut out) = (0_usize, 0_usize);
    for samples in samples {
        all += samples.len();
        out += samples.iter().filter(|sample| sample[3] != 0).count();
    }
    (100 * out > all).then(|| {
        format!(
            "{} % of {all} samples were disturbed, by whoever took the CPU or computed on its core, \
             and left out where others were enough.",
            100 * out / all
        )
    })
}

/// What a reader must know before trusting the numbers.
fn notes(header: &Header, end: Option<&EndLine>, lines: &[Line]) -> Vec<String> {
    let mut notes = Vec::new();
    match end {
        None => notes.push("The run did not come to its end: points are missing.".to_owned()),
        Some(end) if end.interrupted => {
            notes.push("The run was stopped early: points are missing.".to_owned());
        }
        Some(_) => {}
    }
    notes.extend(header.notes.iter().cloned());
    if let Some(hypervisor) = &header.hypervisor {
        notes.push(format!(
            "This is a virtual machine ({hypervisor}): others may share its caches and its time."
        ));
    }
    let ids = all().into_iter().map(|row| row.id).chain([MACHINE]);
    let timed: Vec<bool> = ids
        .flat_map(|id| points_of(lines, id))
        .filter_map(|point| match point.state {
            State::Measured(measured) => Some(measured.noisy()),
            _ => None,
        })
        .collect();
    match timed.iter().filter(|noisy| **noisy).count() {
        0 => {}
        count => notes.push(format!(
            "{count} of {} timed points are noisy: their interval reaches more than {} % to \
             either side.",
            timed.len(),
            100.0 * NOISY
        )),
    }
    notes.extend(disturbed(lines));
    let known = |id: &str| id == MACHINE || all().iter().any(|row| row.id == id);
    let mut unknown: Vec<&str> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Point(point) if !known(&point.experiment) => Some(point.experiment.as_str()),
            _ => None,
        })
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        notes.push(format!(
            "Left out, for this version of linefill does not know them: {}.",
            unknown.join(", ")
        ));
    }
    notes
}

fn section(
    experiment: &Experiment,
    machine: &Machine,
    points: &[Point],
    lines: &[Line],
) -> Result<Section, ReportError> {
    let evidence = Evidence {
        machine,
        points,
        unit: experiment.unit(),
    };
    Ok(Section {
        id: experiment.id.to_owned(),
        name: experiment.name.to_owned(),
        title: experiment.title.to_owned(),
        question: experiment.question.to_owned(),
        source: experiment.source.to_owned(),
        today: experiment.today.to_owned(),
        claims: claims(experiment, &evidence, lines),
        figure: figure(experiment, &evidence)?,
        counted: counted(
            experiment,
            points,
            &machine.counting,
            axis(experiment.plot.unwrap_or(TABLE).x),
        ),
        untestable: untestable(points),
    })
}

fn claims(experiment: &Experiment, evidence: &Evidence<'_>, lines: &[Line]) -> Vec<ClaimView> {
    let recorded: Vec<&VerdictLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Verdict(verdict) if verdict.experiment == experiment.id => Some(verdict),
            _ => None,
        })
        .collect();
    let last = |text: &str| recorded.iter().rev().find(|verdict| verdict.claim == text);
    let decided = judge(experiment, evidence.machine, evidence.points);
    let known = experiment
        .claims
        .iter()
        .zip(decided)
        .map(|(claim, judgement)| {
            let view = last(claim.text).and_then(|verdict| claim_view(verdict));
            view.unwrap_or_else(|| ClaimView {
                claim: claim.text.to_owned(),
                verdict: judgement.verdict,
                numbers: judgement.numbers,
            })
        });
    known.collect()
}

fn claim_view(line: &VerdictLine) -> Option<ClaimView> {
    let verdict = Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.name() == line.verdict)?;
    Some(ClaimView {
        claim: line.claim.clone(),
        verdict,
        numbers: line.numbers.clone(),
    })
}

/// The points that could not be put to the test, by series and reason.
fn untestable(points: &[Point]) -> Vec<UntestableView> {
    let mut parts: Vec<UntestableView> = Vec::new();
    for point in points {
        let State::Untestable(Untestable(reason)) = &point.state else {
            continue;
        };
        let same = parts
            .iter_mut()
            .find(|part| part.series == point.series && part.reason == *reason);
        match same {
            Some(part) => part.points += 1,
            None => parts.push(UntestableView {
                series: point.series.clone(),
                points: 1,
                reason: reason.clone(),
            }),
        }
    }
    parts
}

/// How an experiment without a plot shows its points: as a table.
const TABLE: Plot = Plot {
    shape: Shape::Lines,
    x: Axis::linear("x"),
    y: Axis::linear(""),
    unit: Unit::CoreCycles,
    reference: &[],
};

fn figure(experiment: &Experiment, evidence: &Evidence<'_>) -> Result<Option<Figure>, ReportError> {
    let curves: Vec<CurveView> = views((experiment.curves)(evidence));
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return Ok(None);
    }
    let plot = experiment.plot.unwrap_or(TABLE);
    let form = match (experiment.plot, plot.shape) {
        (None, _) => Form::Table,
        (_, Shape::Lines) => Form::Lines,
        (_, Shape::Bars) => Form::Bars,
        (_, Shape::Surface { depth }) => Form::Surface(depth.to_owned()),
        (_, Shape::Heat { depth }) => Form::Heat(depth.to_owned()),
    };
    let timed = |point: &Point| matches!(point.state, State::Measured(_));
    let unit = match form {
        Form::Table if !evidence.points.iter().any(timed) => "",
        _ => plot.unit.label(),
    };
    Ok(Some(Figure {
        form,
        x: axis(plot.x),
        y: axis(plot.y),
        unit: unit.to_owned(),
        rules: rules(&plot, evidence.machine, &curves),
        references: references(&plot)?,
        prediction: predicted(experiment, evidence, &curves),
        curves,
    }))
}

fn views(curves: Vec<Curve>) -> Vec<CurveView> {
    let value = |(x, value): (f64, Interval)| Value {
        x,
        lo: value.lo,
        mid: value.middle(),
        hi: value.hi,
    };
    let view = |curve: Curve| CurveView {
        label: curve.label,
        points: curve.points.into_iter().map(value).collect(),
    };
    curves.into_iter().map(view).collect()
}

/// The predictions of the curves that are drawn.
fn predicted(
    experiment: &Experiment,
    evidence: &Evidence<'_>,
    curves: &[CurveView],
) -> Option<PredictionView> {
    let found = prediction(experiment, evidence)?;
    let Prediction {
        error, points, bar, ..
    } = found;
    let mut drawn = found.curves;
    drawn.retain(|found| {
        let measured = curves.iter().any(|curve| curve.label == found.label);
        measured && !found.points.is_empty()
    });
    let names = found.models.iter().map(|model| model.name.to_owned());
    Some(PredictionView {
        curves: views(drawn),
        error,
        points,
        bar,
        models: names.collect(),
        lacks: found.lacks.iter().map(|&lack| lack.to_owned()).collect(),
    })
}

fn axis(axis: Axis) -> AxisView {
    AxisView {
        label: axis.label.to_owned(),
        log: axis.log,
        bytes: axis.bytes,
    }
}

/// The columns that are named, or all of a numbered family if none is.
fn references(plot: &Plot) -> Result<Vec<ReferenceView>, ReferenceError> {
    let mut views = Vec::new();
    for reference in plot.reference {
        let file = reference::file(reference.file)?;
        let named = |&(column, label): &(&str, &str)| (column.to_owned(), label.to_owned());
        let columns: Vec<(String, String)> = match reference.columns {
            [] => file.numbered_columns()?,
            columns => columns.iter().map(named).collect(),
        };
        for (column, label) in columns {
            views.push(ReferenceView {
                label,
                machine: reference.machine.to_owned(),
                source: file.source(),
                points: places(plot, reference.x, file.curve(reference.x, &column)?),
            });
        }
    }
    Ok(views)
}

/// Points of a file at their places on our axis: Sestoft states sizes in KiB.
fn places(plot: &Plot, column: &str, mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if plot.x.bytes && column == "kib" {
        points.iter_mut().for_each(|point| point.0 *= 1024.0);
    }
    points
}

/// A rule at each cache size that lies among the points.
fn rules(plot: &Plot, machine: &Machine, curves: &[CurveView]) -> Vec<Rule> {
    if !plot.x.bytes {
        return Vec::new();
    }
    let places = || {
        curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|value| value.x)
    };
    let capacities = machine.ranges.capacities.iter();
    capacities
        .filter(|capacity| {
            let usable = capacity.usable();
            places().any(|x| x < usable) && places().any(|x| x > usable)
        })
        .map(|capacity| {
            let label = level_name(capacity.level);
            let usable = capacity.usable();
            let how = match capacity.reported {
                Some(reported) if reported <= usable => "by CPUID",
                _ => "as measured",
            };
            Rule {
                meaning: format!("{label} {} {how}", show(usable)),
                label,
                x: usable,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_samples_are_told_if_there_are_some() {
        let line = |disturbed: usize| {
            let sample = |index| [10, 20, 5, u64::from(index < disturbed)];
            let samples: Vec<[u64; 4]> = (0..100).map(sample).collect();
            let line = serde_json::json!({
                "kind": "point", "experiment": "D14", "series": "a", "x": 1.0, "pass": 0,
                "timed": {
                    "median": 1.0, "mad": 0.0, "min": 1.0, "lo": 1.0, "hi": 1.0, "n": 100,
                    "core_per_tick": 1.0, "operations": 10, "work": [1, 0, 8, 0],
                    "pages": "4 KiB", "flags": [], "samples": samples,
                },
            });
            serde_json::from_value(line).unwrap()
        };
        assert_eq!(disturbed(&[line(1)]), None);
        let told = disturbed(&[line(40), line(0)]).unwrap();
        assert!(told.starts_with("20 % of 200 samples"), "{told}");
        assert_eq!(disturbed(&[]), None);
    }

    #[test]
    fn every_experiment_finds_its_reference() {
        for experiment in all() {
            let Some(plot) = experiment.plot else {
                continue;
            };
            let views = references(&plot);
            let views = views.unwrap_or_else(|error| panic!("{}: {error}", experiment.id));
            assert!(views.iter().all(|view| !view.points.is_empty()));
            let mut points = views.iter().flat_map(|view| &view.points);
            let plausible = |x: f64| !plot.x.bytes || x >= 512.0;
            assert!(points.all(|point| plausible(point.0)), "{}", experiment.id);
        }
    }

    #[test]
    fn a_record_without_a_header_gives_no_report() {
        let end = Line::End(EndLine {
            seconds: 1.0,
            interrupted: false,
        });
        assert_eq!(of_record(&[end]), Err(ReportError::NoHeader));
    }
}
