//! Predictions compared with measurements.
#![cfg(feature = "lab")]

use std::sync::LazyLock;

use linefill::experiment::{Basis, Left};
use linefill::lab::analysis::Analysis;
use linefill::lab::record::{MACHINE, PointLine, Record};
use linefill::lab::report::{ReportView, build, render};
use linefill::stats::{Interval, median};

use super::records::{first, last};

/// Experiments with random walks or jumps, and the maximum error of the model on the recorded machine.
const WALKS: [(&str, f64); 4] = [("D7", 0.05), ("B11", 0.05), ("D8", 0.15), ("D19", 0.15)];

fn recorded() -> Record {
    first().record().clone()
}

/// The record with nothing but the points of these experiments.
fn recorded_of(ids: &[&str]) -> Record {
    let mut record = recorded();
    let points = &mut record.points;
    points.retain(|line| ids.contains(&line.experiment.as_str()));
    record
}

fn error(view: &ReportView, id: &str) -> Option<f64> {
    let mut found = view.predictions();
    found.find(|(section, _)| section.id == id)?.1.error
}

/// The median error over all points of an experiment, including points that do not test a model.
fn error_of_all(analysis: &Analysis, id: &str) -> f64 {
    let (_, of) = analysis
        .predictions()
        .find(|(experiment, _)| experiment.id == id)
        .unwrap_or_else(|| panic!("{id} has no prediction"));
    let mut errors: Vec<f64> = of.points.iter().map(|point| point.error).collect();
    errors.sort_by(f64::total_cmp);
    median(&errors).unwrap()
}

#[test]
fn the_recorded_walks_are_as_predicted() {
    let analysis = first().analysis();
    for (id, most) in WALKS {
        let error = error_of_all(analysis, id);
        assert!(error <= most, "{id}: {error}");
    }
    // That record has no streams, and without them the steps in order cannot be predicted.
    for id in ["D14", "D35", "D12"] {
        assert_eq!(error(first().report(), id), None, "{id}");
    }
}

/// The ladder is a random walk in pages of 2 MiB.
#[test]
fn what_the_ladder_measured_tests_no_model() {
    let analysis = first().analysis();
    let outcome = analysis.predicted().unwrap();
    let own = |id: &str| {
        let (_, of) = analysis.predictions().find(|(of, _)| of.id == id).unwrap();
        of.points.iter().filter(|point| point.own_quantity).count()
    };
    let (_, walks) = analysis.predictions().find(|(of, _)| of.id == "D7").unwrap();
    assert_eq!(own("D7"), walks.points.len());
    assert_eq!(walks.error(), None);
    assert!(!walks.poor());
    assert!(outcome.own_quantity >= own("D7"));
    assert!(error(first().report(), "D7").is_none());
}

/// Most of E18's lists fit the ways of L1d: their steps take the latency of L1d, which the ladder measured.
/// Longer lists test the model.
#[test]
fn hits_of_l1d_test_no_model() {
    let analysis = last().analysis();
    let (_, lists) = analysis.predictions().find(|(of, _)| of.id == "E18").unwrap();
    let counted = lists.counted().count();
    assert!(counted > 0);
    assert!(2 * counted < lists.points.len());
}

/// Figures share curves: a measurement counts as one test, in however many figures it is drawn.
#[test]
fn a_shared_point_counts_once() {
    let analysis = first().analysis();
    let outcome = analysis.predicted().unwrap();
    let counted: Vec<_> = analysis.predictions().flat_map(|(_, of)| of.counted()).collect();
    let mut setups: Vec<&str> = counted.iter().map(|point| point.setup.as_str()).collect();
    setups.sort_unstable();
    setups.dedup();
    assert!(setups.len() < counted.len(), "some are shared");
    assert_eq!(outcome.points, setups.len());
}

/// No vendor publishes how long a core keeps a contended line.
#[test]
fn contended_lines_are_not_predicted() {
    let analysis = last().analysis();
    for id in ["B8", "F1", "F2"] {
        assert!(analysis.answer(id).is_some(), "{id}");
        assert!(analysis.predictions().all(|(of, _)| of.id != id), "{id}");
    }
}

#[test]
fn every_model_of_a_figure_says_where_its_numbers_come_from() {
    let view = first().report();
    assert!(view.predictions().count() > 10);
    for (section, of) in view.predictions() {
        for model in &of.models {
            let said = ["from calibration", "from published values", "fitted"]
                .iter()
                .any(|basis| model.ends_with(&format!("({basis})")));
            assert!(said, "{}: {model}", section.id);
        }
    }
}

/// A prediction comes from the parameters, not from the points: with slower points it must be wrong.
#[test]
fn a_prediction_does_not_follow_what_it_is_held_against() {
    let mut record = recorded_of(&[MACHINE, "D8"]);
    for line in &mut record.points {
        if let Some(measured) = line.point.measured_mut()
            && line.experiment == "D8"
        {
            measured.ticks.median *= 2.0;
            measured.ticks.interval = measured.ticks.interval.scaled(2.0);
        }
    }
    let error = error_of_all(&Analysis::of(record), "D8");
    assert!((0.4..0.6).contains(&error), "{error}");
}

#[test]
fn without_calibration_nothing_is_predicted() {
    let mut record = recorded();
    record.points.retain(|line| line.experiment != MACHINE);
    let analysis = Analysis::of(record);
    assert_eq!(analysis.predictions().count(), 0);
    assert_eq!(analysis.predicted(), None);
}

/// Core cycles of a made-up machine by working set: a random step, and a line of a stream.
const LEVELS: [(f64, f64, f64); 4] = [
    (32.0 * 1024.0, 4.0, 0.0),
    (1048576.0, 14.0, 2.0),
    (33554432.0, 50.0, 3.0),
    (f64::INFINITY, 400.0, 12.0),
];

fn level(bytes: f64) -> (f64, f64) {
    let level = LEVELS.iter().find(|(size, ..)| bytes <= *size).unwrap();
    (level.1, level.2)
}

/// The point with another time, given in core cycles.
fn taking(line: &PointLine, cycles: f64) -> PointLine {
    let mut line = line.clone();
    if let Some(measured) = line.point.measured_mut() {
        let ticks = cycles / measured.core_per_tick.unwrap_or(1.0);
        measured.ticks.median = ticks;
        measured.ticks.interval = Interval::exact(ticks);
    }
    line
}

/// The record of a made-up machine. Its steps in order wait for L1d or for the stream, and take `slower`
/// times as long in D15.
fn made_up(slower: f64) -> Record {
    let mut record = recorded();
    let mut points = Vec::new();
    for line in &record.points {
        let (step, a_line) = level(line.point.x);
        let bytes: f64 = match line.point.series.as_str() {
            "NPAD=0" => 8.0,
            "NPAD=7" => 64.0,
            _ => 128.0,
        };
        let moved = a_line * bytes.min(64.0) / 64.0;
        match line.experiment.as_str() {
            MACHINE => points.push(taking(line, step)),
            "D14" => points.push(taking(line, moved.max(4.0))),
            "D15" => points.push(taking(line, slower * moved.max(4.0))),
            "D35" => points.push(line.clone()),
            "E29" if line.point.series != "random" => {
                points.push(taking(line, if line.point.x <= 1024.0 { 40.0 } else { 90.0 }));
            }
            _ => {}
        }
    }
    // The machine's streams: eight lines per operation.
    let rung = points[0].clone();
    for series in ["stream of loads", "stream of stores"] {
        for bytes in [262144.0, 6.0 * 1048576.0, 134217728.0] {
            let mut line = taking(&rung, 8.0 * level(bytes).1);
            (line.point.series, line.point.x) = (series.to_owned(), bytes);
            points.push(line);
        }
    }
    // The part of memory's latency that remains with the prefetchers: very little for the next line.
    for (left, cycles) in [(Left::NextLine, 12.0), (Left::FourLines, 40.0), (Left::Page, 90.0)] {
        let mut line = taking(&rung, cycles);
        (line.point.series, line.point.x) = (left.series().to_owned(), 134217728.0);
        points.push(line);
    }
    let mut line = taking(&rung, 2.0);
    (line.point.series, line.point.x) = (FLOAT_ADDITION.to_owned(), 0.0);
    points.push(line);
    record.points = points;
    record
}

/// The made-up machine as it is predicted.
static PREDICTED: LazyLock<Analysis> = LazyLock::new(|| Analysis::of(made_up(1.0)));
static REPORTED: LazyLock<ReportView> = LazyLock::new(|| build(&PREDICTED).unwrap());

/// The name of this quantity in the calibration.
const FLOAT_ADDITION: &str = "a floating-point addition that waits for the one before";

#[test]
fn the_sheet_shows_what_predictions_go_by() {
    let sheet = PREDICTED.sheet();
    let row = |name: &str| sheet.iter().find(|row| row.name == name).unwrap();
    let step = row("step to every fourth line of memory");
    assert_eq!(step.measured.as_deref(), Some("40.0 core cycles"));
    let addition = row("floating-point addition");
    assert_eq!(addition.measured.as_deref(), Some("2.0 core cycles"));
    let published = "3 core cycles, published for this core";
    assert_eq!(addition.cpuid.as_deref(), Some(published));
    assert_eq!(addition.differs.as_deref(), Some("not the latency published"));
}

#[test]
fn lists_in_order_are_predicted_from_a_stream() {
    let view = &*REPORTED;
    for id in ["D14", "D15"] {
        let error = error(view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error < 0.01, "{id}: {error}");
    }
    let section = view.sections.iter().find(|of| of.id == "D15").unwrap();
    let figure = section.figure.as_ref().unwrap();
    let prediction = figure.prediction.as_ref().unwrap();
    // The effect of the prefetchers on larger strides is measured only in memory, so other series have no
    // prediction.
    let labels: Vec<&str> = prediction.curves.iter().map(|of| of.label.as_str()).collect();
    assert_eq!(labels, ["NPAD=0", "NPAD=7"]);
    assert!(!prediction.poor() && prediction.bar == 0.15);
}

#[test]
fn strides_are_predicted_from_two_of_them() {
    let found = PREDICTED.predictions().find(|(of, _)| of.id == "E29");
    let (_, prediction) = found.expect("E29 is predicted");
    // The points at 64, 256 and 4,096 bytes come from the calibrated quantity itself; 1,024, 2,048 and 8,192
    // test the model.
    assert_eq!(prediction.counted().count(), 3);
    let error = prediction.error().unwrap();
    assert!(error < 0.01, "{error}");
    assert_eq!(prediction.models[0].basis, Basis::Calibration);
    assert!(prediction.models.iter().any(|model| model.basis == Basis::Fitted));
}

/// Predictions have the unit of the figure: bandwidths are in bytes per cycle.
#[test]
fn a_bandwidth_is_predicted_in_its_own_unit() {
    let section = REPORTED.sections.iter().find(|of| of.id == "D35").unwrap();
    let prediction = section.figure.as_ref().unwrap().prediction.as_ref();
    let curves = &prediction.expect("streams are known").curves;
    let of = |label: &str| {
        let curve = curves.iter().find(|curve| curve.label == label);
        curve.unwrap_or_else(|| panic!("no {label:?}")).points.clone()
    };
    // 64 bytes in 12 cycles; a copied byte needs a stream of loads and a stream of stores.
    let last = |label| of(label).last().unwrap().mid;
    assert!((last("read, 16 B") - 64.0 / 12.0).abs() < 0.05, "{}", last("read, 16 B"));
    assert!((last("copy, 16 B") - 64.0 / 24.0).abs() < 0.05);
    // In L1d the ports are the limit: two loads of 16 bytes per cycle.
    assert_eq!(of("read, 16 B")[0].mid, 32.0);
    // This machine's parameters do not include the record's non-temporal stores.
    assert!(curves.iter().all(|curve| !curve.label.starts_with("non-temporal")));
}

#[test]
fn a_poor_prediction_is_called_poor_and_the_reader_told_why() {
    let view = build(&Analysis::of(made_up(3.0))).unwrap();
    let (_, poor) = view.predictions().find(|(section, _)| section.id == "D15").unwrap();
    assert!(poor.poor(), "{:?}", poor.error);
    assert!(poor.lacks[0].contains("prefetcher"), "{:?}", poor.lacks);
    let page = render(&view);
    for part in
        ["(target 15 %)", "The model leaves out what a prefetcher", "Median error", " its target."]
    {
        assert!(page.contains(part), "no {part:?}");
    }
    let good = render(&REPORTED);
    assert!(!good.contains("The model leaves out what a prefetcher"));
}

/// A guest may have such a small share of the last level that no range of working sets is in it.
#[test]
fn a_small_share_of_the_last_level_leaves_walks_predicted() {
    let mut record = recorded_of(&["D7", "D8", MACHINE]);
    for line in &mut record.points {
        let cycles = match line.point.x {
            x if x <= 32768.0 => 4.0,
            x if x <= 1048576.0 => 14.0,
            x if x <= 3.0 * 1048576.0 => 50.0,
            _ => 400.0,
        };
        *line = taking(line, cycles);
    }
    let error = error_of_all(&Analysis::of(record), "D8");
    assert!(error < 0.05, "{error}");
}
