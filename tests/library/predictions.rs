//! Predictions beside what was measured.
#![cfg(feature = "lab")]

use std::path::Path;

use linefill::lab::analysis::Analysis;
use linefill::lab::read::read;
use linefill::lab::record::{MACHINE, PointLine, Record};
use linefill::lab::report::{ReportView, build, render};
use linefill::stats::Interval;

/// Experiments whose points are random walks or jumps, and the error up to which the model is to
/// explain the recorded machine's.
const WALKS: [(&str, f64); 4] = [("D7", 0.05), ("B11", 0.05), ("D8", 0.15), ("D19", 0.15)];

fn recorded() -> Record {
    record("2026-11-20-zen4-guest.jsonl")
}

fn record(name: &str) -> Record {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    read(&records.join(name)).unwrap().record
}

fn report(record: Record) -> ReportView {
    build(&Analysis::of(record)).unwrap()
}

fn error(view: &ReportView, id: &str) -> Option<f64> {
    let mut found = view.predictions();
    found
        .find(|(section, _)| section.id == id)
        .map(|(_, prediction)| prediction.error)
}

#[test]
fn the_recorded_walks_are_as_predicted() {
    let view = report(recorded());
    for (id, most) in WALKS {
        let error = error(&view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error <= most, "{id}: {error}");
    }
    // That record has no streams, and without them nothing is said of lines in order.
    for id in ["D14", "D35", "D12"] {
        assert_eq!(error(&view, id), None, "{id}");
    }
}

/// The recorded machine, as if its two cores had been as far apart all along as where a line's way
/// to the other and back was measured.
fn as_far_apart(record: &mut Record) {
    let way = |line: &PointLine| {
        let measured = line.point.measured()?;
        (line.point.series == "lock cmpxchg").then_some(measured.ticks.median)
    };
    let round_trip = record.points.iter().find_map(way);
    assert!(round_trip.is_some(), "X12 was measured");
    for line in &mut record.points {
        if let Some(measured) = line.point.measured_mut()
            && let Some(crew) = &mut measured.crew
        {
            crew.round_trip = round_trip;
        }
    }
}

/// A transfer for each increment would be eighty times as much.
#[test]
fn plain_increments_of_one_line_wait_for_it_once_a_store_buffer() {
    let mut record = record("2026-11-22-zen4-guest.jsonl");
    as_far_apart(&mut record);
    let view = report(record);
    for id in ["F1", "F2"] {
        let error = error(&view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error <= 0.35, "{id}: {error}");
    }
}

/// Threads are as far apart as they were when they were measured, whatever it was at the ladder.
#[test]
fn a_line_takes_as_long_as_between_the_threads_of_the_point() {
    let mut record = record("2026-11-22-zen4-guest.jsonl");
    as_far_apart(&mut record);
    let near = error(&report(record.clone()), "F1").unwrap();
    for line in &mut record.points {
        if let Some(measured) = line.point.measured_mut()
            && let Some(crew) = &mut measured.crew
            && let Some(trip) = &mut crew.round_trip
        {
            *trip *= 10.0;
        }
    }
    let far = error(&report(record), "F1").unwrap();
    assert!(far > 1.0 && far > 3.0 * near, "{near} near, {far} far");
}

/// The prediction is the parameters', not the points': slower points make it wrong.
#[test]
fn a_prediction_does_not_follow_what_it_is_held_against() {
    let mut record = recorded();
    for line in &mut record.points {
        if let Some(measured) = line.point.measured_mut()
            && line.experiment == "D8"
        {
            measured.ticks.median *= 2.0;
            measured.ticks.interval = measured.ticks.interval.scaled(2.0);
        }
    }
    let view = report(record);
    let error = error(&view, "D8").unwrap();
    assert!((0.4..0.6).contains(&error), "{error}");
}

#[test]
fn without_a_ladder_nothing_is_predicted_that_comes_from_memory() {
    let mut record = recorded();
    record.points.retain(|line| line.experiment != MACHINE);
    let view = report(record);
    // How long additions wait for each other is published of the core.
    let sums = "sums of additions that wait for each other";
    for (section, of) in view.predictions() {
        assert_eq!(of.models, [sums], "{}", section.id);
    }
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

/// The same point with another time in core cycles.
fn taking(line: &PointLine, cycles: f64) -> PointLine {
    let mut line = line.clone();
    if let Some(measured) = line.point.measured_mut() {
        let ticks = cycles / measured.core_per_tick.unwrap_or(1.0);
        measured.ticks.median = ticks;
        measured.ticks.interval = Interval::exact(ticks);
    }
    line
}

/// The record of a made-up machine, whose steps in order wait for L1d or for the stream, `slower`
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
            _ => {}
        }
    }
    // The streams of such a machine: eight lines per operation.
    let rung = points[0].clone();
    for series in ["stream of loads", "stream of stores"] {
        for bytes in [262144.0, 6.0 * 1048576.0, 134217728.0] {
            let mut line = taking(&rung, 8.0 * level(bytes).1);
            (line.point.series, line.point.x) = (series.to_owned(), bytes);
            points.push(line);
        }
    }
    record.points = points;
    record
}

#[test]
fn lists_in_order_are_predicted_from_a_stream() {
    let view = report(made_up(1.0));
    for id in ["D14", "D15"] {
        let error = error(&view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error < 0.01, "{id}: {error}");
    }
    let section = view.sections.iter().find(|of| of.id == "D15").unwrap();
    let figure = section.figure.as_ref().unwrap();
    let prediction = figure.prediction.as_ref().unwrap();
    assert_eq!(prediction.curves.len(), figure.curves.len());
    assert!(!prediction.poor() && prediction.bar == 0.15);
}

/// In the unit of the figure, whatever that is: bandwidths are bytes per cycle.
#[test]
fn a_bandwidth_is_predicted_in_its_own_unit() {
    let view = report(made_up(1.0));
    let section = view.sections.iter().find(|of| of.id == "D35").unwrap();
    let prediction = section.figure.as_ref().unwrap().prediction.as_ref();
    let curves = &prediction.expect("streams are known").curves;
    let of = |label: &str| {
        let curve = curves.iter().find(|curve| curve.label == label);
        curve
            .unwrap_or_else(|| panic!("no {label:?}"))
            .points
            .clone()
    };
    // 64 bytes in 12 cycles; a copied byte comes by a stream of loads and one of stores.
    let last = |label| of(label).last().unwrap().mid;
    assert!(
        (last("read, 16 B") - 64.0 / 12.0).abs() < 0.05,
        "{}",
        last("read, 16 B")
    );
    assert!((last("copy, 16 B") - 64.0 / 24.0).abs() < 0.05);
    // In L1d the ports are the roof: two loads of 16 bytes per cycle.
    assert_eq!(of("read, 16 B")[0].mid, 32.0);
    // What the record has of non-temporal stores is no parameter of this machine.
    assert!(
        curves
            .iter()
            .all(|curve| !curve.label.starts_with("non-temporal"))
    );
}

#[test]
fn a_poor_prediction_is_called_poor_and_the_reader_told_why() {
    let view = report(made_up(3.0));
    let (_, poor) = view
        .predictions()
        .find(|(section, _)| section.id == "D15")
        .unwrap();
    assert!(poor.poor(), "{}", poor.error);
    assert!(poor.lacks[0].contains("prefetchers"), "{:?}", poor.lacks);
    let page = render(&view);
    for part in [
        "That is a poor prediction: no more than 15 % was wanted.",
        "it leaves out which strides",
        "The median error over",
        "miss their bar",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
    let good = render(&report(made_up(1.0)));
    assert!(!good.contains("it leaves out which strides"));
}

/// A guest may get so little of the last level that no range of working sets is its own.
#[test]
fn a_small_share_of_the_last_level_leaves_walks_predicted() {
    let mut record = recorded();
    for line in &mut record.points {
        let random = ["D7", "D8", MACHINE].contains(&line.experiment.as_str());
        if random {
            let cycles = match line.point.x {
                x if x <= 32768.0 => 4.0,
                x if x <= 1048576.0 => 14.0,
                x if x <= 3.0 * 1048576.0 => 50.0,
                _ => 400.0,
            };
            *line = taking(line, cycles);
        }
    }
    let view = report(record);
    let error = error(&view, "D8").expect("D8 is predicted");
    assert!(error < 0.05, "{error}");
}
