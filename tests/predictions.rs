//! Predictions beside what was measured.
#![cfg(feature = "lab")]

use std::path::Path;

use linefill::lab::read::read;
use linefill::lab::record::{Line, Outcome};
use linefill::lab::report::{ReportView, of_record};

/// Experiments whose points are random walks or jumps, and the error up to which the model is to
/// explain the recorded machine's.
const WALKS: [(&str, f64); 4] = [("D7", 0.05), ("B11", 0.05), ("D8", 0.15), ("D19", 0.15)];

fn recorded() -> Vec<Line> {
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("records/2026-11-20-zen4-guest.jsonl");
    read(&record).unwrap().lines
}

fn error(view: &ReportView, id: &str) -> Option<f64> {
    let mut found = view.predictions();
    found
        .find(|(section, _)| section.id == id)
        .map(|(_, error)| error)
}

#[test]
fn the_recorded_walks_are_as_predicted() {
    let view = of_record(&recorded()).unwrap();
    for (id, most) in WALKS {
        let error = error(&view, id).unwrap_or_else(|| panic!("{id} has no prediction"));
        assert!(error <= most, "{id}: {error}");
    }
    // What the model says nothing about has none.
    for id in ["D14", "D35", "E18", "D12"] {
        assert_eq!(error(&view, id), None, "{id}");
    }
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
fn without_a_ladder_nothing_is_predicted() {
    let mut lines = recorded();
    lines.retain(|line| !matches!(line, Line::Point(point) if point.experiment == "machine"));
    let view = of_record(&lines).unwrap();
    assert_eq!(view.predictions().count(), 0);
}
