//! Builds the content of a report from an analysis.

use anyhow::Result;

use super::table::{counted, uncounted};
use super::view::{
    AxisView, CurveView, Figure, Form, PredictionView, ReferenceView, ReportView, Rule, Section,
    UntestableView, Value,
};
use crate::experiment::{
    Axis, Curve, Experiment, Machine, Plot, Point, Prediction, Shape, State, Unit, Untestable, all,
    find,
};
use crate::lab::analysis::{Analysis, Answer, TwoStates};
use crate::lab::answer::Summary;
use crate::lab::chart::place;
use crate::lab::date::Date;
use crate::lab::inferred::core_per_tick;
use crate::lab::record::{EndLine, Header, MACHINE, Record, version};
use crate::lab::reference::{self, thinned};
use crate::lab::sheet::{level_name, level_of};
use crate::lab::size::{self, show};
use crate::order;
use crate::stats::NOISY;

/// Returns the content of a record's report: every experiment that has points, in the order of the registry.
///
/// # Errors
/// If an experiment refers to numbers that `reference/` does not have.
pub fn build(analysis: &Analysis) -> Result<ReportView> {
    let Record { header, end, .. } = &analysis.record;
    let machine = &analysis.machine;
    let hertz = core_per_tick(&analysis.record).map(|ratio| header.tick_hz * ratio);
    let ns_per_cycle = hertz.map(|hertz| 1e9 / hertz);
    let mut sections = Vec::new();
    for answer in &analysis.answers {
        sections.push(section(answer, machine, ns_per_cycle)?);
    }
    let missing = all().into_iter().filter(|of| analysis.answer(of.id).is_none());
    let run: Vec<&Experiment> = analysis.answers.iter().map(|of| of.experiment).collect();
    let warnings = warnings(analysis);
    let (caveats, others) = notes(analysis, uncounted(&run, &machine.counting));
    let notes = warnings.iter().cloned().chain(others).collect();
    let whole = end.as_ref().filter(|end| !end.interrupted);
    Ok(ReportView {
        summary: Summary::of(analysis),
        date: Date::from_unix(header.started).to_string(),
        duration: whole.map_or_else(String::new, |end| format!("{:.0} s", end.seconds)),
        warnings,
        caveats,
        prefetchers_off: header.prefetchers_off.is_some(),
        facts: facts(header, end.as_ref()),
        notes,
        sheet: analysis.sheet(),
        sections,
        not_run: missing.map(|of| (of.id.to_owned(), of.title.to_owned())).collect(),
        predicted: analysis.predicted(),
    })
}

/// Returns the facts of the run as names and values.
fn facts(header: &Header, end: Option<&EndLine>) -> Vec<(String, String)> {
    let cpu = &header.cpu;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let facts = [
        (
            "CPU",
            Some(format!(
                "{} family {:X}h, model {:X}h, stepping {}",
                cpu.vendor, cpu.family, cpu.model, cpu.stepping
            )),
        ),
        ("microarchitecture", cpu.microarchitecture.clone()),
        ("features", known(&cpu.features.join(", "))),
        ("masked away", known(&header.masked)),
        ("memory", header.memory.map(|size| show(size as f64))),
        ("hypervisor", header.hypervisor.clone()),
        ("system", header.os.clone()),
        ("host", header.host.clone()),
        ("pinned to", header.pinned.map(|cpu| format!("CPU {cpu}"))),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("memory on", header.node.map(|node| format!("node {node}"))),
        ("selection", known(&header.selection.join(", "))),
        ("largest working set", Some(show(header.largest as f64))),
        ("seed", Some(header.seed.to_string())),
        ("duration", end.map(|end| format!("{:.0} s", end.seconds))),
        ("linefill", Some(version(header))),
        ("compiler", known(&header.rustc)),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns warnings about conditions that change the answer: missing points, prefetchers that are off, and
/// experiments that this version does not know.
fn warnings(analysis: &Analysis) -> Vec<String> {
    let Record { header, points, end, .. } = &analysis.record;
    let mut warnings = Vec::new();
    let stopped = match end {
        None => Some("The run did not finish: points are missing."),
        Some(end) => end.interrupted.then_some("The run was stopped early: points are missing."),
    };
    warnings.extend(stopped.map(str::to_owned));
    if let Some(cpus) = header.prefetchers_off {
        let cpus = size::counted(cpus, "CPU");
        warnings
            .push(format!("The hardware prefetchers were switched off for this run, on {cpus}."));
    }
    let known = |id: &str| id == MACHINE || find(id).is_some_and(|row| row.id == id);
    let mut unknown = order::distinct(points.iter().map(|line| line.experiment.as_str()));
    unknown.retain(|id| !known(id));
    if !unknown.is_empty() {
        warnings.push(format!(
            "Left out, because this version of linefill does not know them: {}.",
            unknown.join(", ")
        ));
    }
    warnings
}

/// Returns further notes that a reader needs to trust the numbers: in a few words, and as sentences.
fn notes(analysis: &Analysis, uncounted: Vec<String>) -> (Vec<&'static str>, Vec<String>) {
    let header = &analysis.record.header;
    let (mut brief, mut notes) = (Vec::new(), Vec::new());
    if let Some(hypervisor) = &header.hypervisor {
        brief.push("shared host");
        notes.push(format!(
            "This is a virtual machine ({hypervisor}): other guests may share its caches and its \
             time."
        ));
    }
    if !uncounted.is_empty() {
        brief.push("events not counted");
        notes.extend(uncounted);
    }
    if analysis.outdated > 0 {
        brief.push("judged anew");
        let are = if analysis.outdated == 1 { "is on a claim" } else { "are on claims" };
        notes.push(format!(
            "{} of the record's {} verdicts {are} of another version of linefill. The claims of \
             this version that have no verdict in the record are judged on its points.",
            analysis.outdated,
            analysis.record.verdicts.len()
        ));
    }
    if !analysis.disagreements.is_empty() {
        brief.push("values that disagree");
    }
    let apart = analysis.disagreements.iter();
    notes.extend(apart.map(ToString::to_string));
    notes.extend(header.notes.iter().cloned());
    let merged = analysis.answers.iter().flat_map(|answer| &answer.points);
    let timed: Vec<bool> = merged
        .chain(&analysis.ladder)
        .filter_map(|point| Some(point.measured()?.noisy()))
        .collect();
    let noisy = timed.iter().filter(|noisy| **noisy).count();
    if noisy > 0 {
        brief.push("noise");
        notes.push(format!(
            "{} % of the points are noisy: they carry more than {} % of error. Read smaller \
             differences as noise.",
            (100 * noisy).div_ceil(timed.len()),
            100.0 * NOISY
        ));
    }
    let disturbed = analysis.disturbed().filter(|of| of.percent > 0);
    notes.extend(disturbed.map(|of| format!("{of}.")));
    if brief.is_empty() && !notes.is_empty() {
        brief.push("notes on this run");
    }
    (brief, notes)
}

fn section(answer: &Answer, machine: &Machine, ns_per_cycle: Option<f64>) -> Result<Section> {
    let Answer { experiment, points, .. } = answer;
    let x = axis(experiment.plot.unwrap_or(TABLE).x);
    let seen = experiment.seen.iter().map(|seen| (seen.core.to_owned(), seen.text.to_owned()));
    Ok(Section {
        id: experiment.id.to_owned(),
        name: experiment.name.to_owned(),
        title: experiment.title.to_owned(),
        question: experiment.question.to_owned(),
        source: experiment.source.to_owned(),
        about: experiment.about.to_owned(),
        seen: seen.collect(),
        claims: answer.claims.clone(),
        figure: figure(answer, machine, ns_per_cycle)?,
        counted: counted(experiment, points, &machine.counting, x.clone()),
        untestable: untestable(points),
        states: answer.states.iter().map(|of| states(of, &x)).collect(),
    })
}

/// Describes a point with two steady states.
fn states(of: &TwoStates, x: &AxisView) -> String {
    let [low, high] = of.nanoseconds;
    format!("{} at {}: {low} ns in some passes, {high} ns in others", of.series, place(x, of.x))
}

/// Groups the untestable points by series and reason.
fn untestable(points: &[Point]) -> Vec<UntestableView> {
    let mut parts: Vec<UntestableView> = Vec::new();
    for point in points {
        let State::Untestable(Untestable(reason)) = &point.state else { continue };
        let same =
            parts.iter_mut().find(|part| part.series == point.series && part.reason == *reason);
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

/// The axes and the unit for an experiment without a plot, which is shown as a table.
const TABLE: Plot = Plot {
    shape: Shape::Lines,
    x: Axis::linear("x"),
    y: Axis::linear(""),
    unit: Unit::CoreCycles,
    reference: &[],
};

fn figure(answer: &Answer, machine: &Machine, ns_per_cycle: Option<f64>) -> Result<Option<Figure>> {
    let curves = views(&answer.curves);
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return Ok(None);
    }
    let experiment = answer.experiment;
    let plot = experiment.plot.unwrap_or(TABLE);
    let form = match (experiment.plot, plot.shape) {
        (None, _) => Form::Table,
        (_, Shape::Lines) => Form::Lines,
        (_, Shape::Bars) => Form::Bars,
        (_, Shape::Surface { depth }) => Form::Surface(depth.to_owned()),
        (_, Shape::Heat { depth, mirrored }) => Form::Heat { depth: depth.to_owned(), mirrored },
    };
    let timed = |point: &Point| point.measured().is_some();
    let counted = |point: &Point| {
        matches!(point.state, State::Counted(_))
            && answer.curves.iter().any(|of| of.label == point.series)
    };
    let is_table = matches!(form, Form::Table);
    let unit = match plot.unit.label() {
        _ if is_table && !answer.points.iter().any(timed) => String::new(),
        unit if is_table && answer.points.iter().any(counted) => format!("{unit}, or counts"),
        unit => unit.to_owned(),
    };
    Ok(Some(Figure {
        form,
        x: axis(plot.x),
        y: axis(plot.y),
        unit,
        ns_per_cycle,
        rules: rules(&plot, machine, &curves),
        references: references(&plot)?,
        prediction: answer.prediction.as_ref().map(|of| predicted(of, &curves)),
        curves,
    }))
}

fn views<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> Vec<CurveView> {
    let view = |curve: &Curve| CurveView {
        label: curve.label.clone(),
        points: curve.points.iter().map(|&(x, value)| Value::at(x, value)).collect(),
    };
    curves.into_iter().map(view).collect()
}

/// Returns the predictions of the curves that are drawn.
fn predicted(found: &Prediction, curves: &[CurveView]) -> PredictionView {
    let drawn = found.curves.iter().filter(|found| {
        let measured = curves.iter().any(|curve| curve.label == found.label);
        measured && !found.points.is_empty()
    });
    let names = found.models.iter();
    let names = names.map(|model| format!("{} ({})", model.name, model.basis.name()));
    let points = found.counted().count();
    PredictionView {
        curves: views(drawn),
        error: found.error(),
        points,
        own_quantity: found.points.len() - points,
        bar: found.bar,
        models: names.collect(),
        lacks: found.lacks.iter().map(|&lack| lack.to_owned()).collect(),
    }
}

pub(in crate::lab) fn axis(axis: Axis) -> AxisView {
    AxisView { label: axis.label.to_owned(), log: axis.log, bytes: axis.bytes }
}

/// Returns the curves of the columns that a plot names, or of all numbered columns if it names none.
fn references(plot: &Plot) -> Result<Vec<ReferenceView>> {
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
                points: thinned(places(plot, reference.x, file.curve(reference.x, &column)?)),
            });
        }
    }
    Ok(views)
}

/// Converts the points of a file to the units of the plot's axis: Sestoft states sizes in KiB.
fn places(plot: &Plot, column: &str, mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if plot.x.bytes && column == "kib" {
        points.iter_mut().for_each(|point| point.0 *= 1024.0);
    }
    points
}

/// Returns a rule at each cache size that lies between points.
fn rules(plot: &Plot, machine: &Machine, curves: &[CurveView]) -> Vec<Rule> {
    if !plot.x.bytes {
        return Vec::new();
    }
    let places = || curves.iter().flat_map(|curve| &curve.points).map(|value| value.x);
    let capacities = machine.ranges.capacities.iter();
    capacities
        .filter(|capacity| {
            let usable = capacity.usable();
            places().any(|x| x < usable) && places().any(|x| x > usable)
        })
        .map(|capacity| {
            let label = level_name(level_of(capacity, machine));
            let usable = capacity.usable();
            let how = match capacity.reported {
                Some(reported) if reported <= usable => "by CPUID",
                _ => "as measured",
            };
            Rule { meaning: format!("{label} {} {how}", show(usable)), label, x: usable }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_finds_its_reference() {
        for experiment in all() {
            let Some(plot) = experiment.plot else { continue };
            let views = references(&plot);
            let views = views.unwrap_or_else(|error| panic!("{}: {error}", experiment.id));
            assert!(views.iter().all(|view| !view.points.is_empty()));
            let mut points = views.iter().flat_map(|view| &view.points);
            let plausible = |x: f64| !plot.x.bytes || x >= 512.0;
            assert!(points.all(|point| plausible(point.0)), "{}", experiment.id);
        }
    }
}
