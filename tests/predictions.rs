//! Predictions beside what was measured.
#![cfg(feature = "lab")]

use std::path::Path;

use linefill::lab::read::read;
use linefill::lab::record::{Line, MACHINE, Outcome, PointLine};
use linefill::lab::report::{ReportView, of_record, render};

/// Experiments whose points are random walks or jumps, and the error up to which the model is to
/// explain the recorded machine's.
const WALKS: [(&str, f64); 4] = [("D7", 0.05), ("B11", 0.05), ("D8", 0.15), ("D19", 0.15)];

fn recorded() -> Vec<Line> {
    record("2026-11-20-zen4-guest.jsonl")
}

fn record(name: &str) -> Vec<Line> {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    read(&records.join(name)).unwrap().lines
}

fn error(view: &ReportView, id: &str) -> Option<f64> {
    let mut found = view.predictions();
    found
        .find(|(section, _)| section.id == id)
        .map(|(_, prediction)| prediction.error)
}

#[test]
fn the_recorded_walks_are_as_predicted() {
    let view = of_record(&recorded()).unwrap();
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
fn as_far_apart(lines: &mut [Line]) {
    let way = |line: &Line| match line {
        Line::Point(point) if point.series == "lock cmpxchg" => match &point.outcome {
            Outcome::Timed(timed) => Some(timed.median),
            _ => None,
        },
        _ => None,
    };
    let round_trip = lines.iter().find_map(way).expect("X12 was measured");
    for line in lines {
        if let Line::Point(point) = line
            && let Outcome::Timed(timed) = &mut point.outcome
            && let Some(crew) = &mut timed.crew
        {
            crew.round_trip = Some(round_trip);
        }
    }
}

/// A transfer for each increment would be eighty times as much.
#[test]
fn plain_increments_of_one_line_wait_for_it_once_a_store_buffer() {
    let mut lines = record("2026-11-22-zen4-guest.jsonl");
    as_far_apart(&mut lines);
    let view = of_record(&lines).unwrap();
    for id in ["F1", "F2"] {
        let error = error(&view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error <= 0.35, "{id}: {error}");
    }
}

/// Threads are as far apart as they were when they were measured, whatever it was at the ladder.
#[test]
fn a_line_takes_as_long_as_between_the_threads_of_the_point() {
    let mut lines = record("2026-11-22-zen4-guest.jsonl");
    as_far_apart(&mut lines);
    let near = error(&of_record(&lines).unwrap(), "F1").unwrap();
    for line in &mut lines {
        if let Line::Point(point) = line
            && let Outcome::Timed(timed) = &mut point.outcome
            && let Some(trip) = timed
                .crew
                .as_mut()
                .and_then(|crew| crew.round_trip.as_mut())
        {
            *trip *= 10.0;
        }
    }
    let far = error(&of_record(&lines).unwrap(), "F1").unwrap();
    assert!(far > 1.0 && far > 3.0 * near, "{near} near, {far} far");
}

/// The prediction is the parameters', not the points': slower points make it wrong.
#[test]
fn a_prediction_does_not_follow_what_it_is_held_against() {
    let mut lines = recorded();
    for line in &mut lines {
        let Line::Point(point) = line else { continue };
        if let Outcome::Timed(timed) = &mut point.outcome
            && point.experiment == "D8"
        {
            for value in [&mut timed.median, &mut timed.lo, &mut timed.hi] {
                *value *= 2.0;
            }
        }
    }
    let view = of_record(&lines).unwrap();
    let error = error(&view, "D8").unwrap();
    assert!((0.4..0.6).contains(&error), "{error}");
}

#[test]
fn without_a_ladder_nothing_is_predicted_that_comes_from_memory() {
    let mut lines = recorded();
    lines.retain(|line| !matches!(line, Line::Point(point) if point.experiment == "machine"));
    let view = of_record(&lines).unwrap();
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
    if let Outcome::Timed(timed) = &mut line.outcome {
        let ticks = cycles / timed.core_per_tick.unwrap_or(1.0);
        (timed.median, timed.lo, timed.hi) = (ticks, ticks, ticks);
    }
    line
}

/// The record of a made-up machine, whose steps in order wait for L1d or for the stream, `slower`
/// times as long in D15.
fn made_up(slower: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in recorded() {
        let Line::Point(point) = &line else {
            lines.push(line);
            continue;
        };
        let (step, a_line) = level(point.x);
        let bytes: f64 = match point.series.as_str() {
            "NPAD=0" => 8.0,
            "NPAD=7" => 64.0,
            _ => 128.0,
        };
        let moved = a_line * bytes.min(64.0) / 64.0;
        match point.experiment.as_str() {
            MACHINE => lines.push(Line::Point(Box::new(taking(point, step)))),
            "D14" => lines.push(Line::Point(Box::new(taking(point, moved.max(4.0))))),
            "D15" => {
                let cycles = slower * moved.max(4.0);
                lines.push(Line::Point(Box::new(taking(point, cycles))));
            }
            "D35" => lines.push(line),
            _ => {}
        }
    }
    // The streams of such a machine: eight lines per operation.
    let rung = lines.iter().find_map(Line::point).unwrap().clone();
    for series in ["stream of loads", "stream of stores"] {
        for bytes in [262144.0, 6.0 * 1048576.0, 134217728.0] {
            let mut point = taking(&rung, 8.0 * level(bytes).1);
            (point.series, point.x) = (series.to_owned(), bytes);
            lines.push(Line::Point(Box::new(point)));
        }
    }
    lines
}

#[test]
fn lists_in_order_are_predicted_from_a_stream() {
    let view = of_record(&made_up(1.0)).unwrap();
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
    let view = of_record(&made_up(1.0)).unwrap();
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
    let view = of_record(&made_up(3.0)).unwrap();
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
    let good = render(&of_record(&made_up(1.0)).unwrap());
    assert!(!good.contains("it leaves out which strides"));
}

/// A guest may get so little of the last level that no range of working sets is its own.
#[test]
fn a_small_share_of_the_last_level_leaves_walks_predicted() {
    let mut lines = recorded();
    for line in &mut lines {
        let Line::Point(point) = line else { continue };
        let random = ["D7", "D8", MACHINE].contains(&point.experiment.as_str());
        if random {
            let cycles = match point.x {
                x if x <= 32768.0 => 4.0,
                x if x <= 1048576.0 => 14.0,
                x if x <= 3.0 * 1048576.0 => 50.0,
                _ => 400.0,
            };
            **point = taking(point, cycles);
        }
    }
    let view = of_record(&lines).unwrap();
    let error = error(&view, "D8").expect("D8 is predicted");
    assert!(error < 0.05, "{error}");
}
