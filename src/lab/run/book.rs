//! The points of a run: in the record, and at hand.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::Result;

use super::{Experiment, Line, Point, PointLine, Recorder};
use crate::experiment::{Case, Quality};
use crate::lab::record::{MACHINE, points_of};

/// What a point is found by: experiment, pass, series, and the bits of x.
type Place = (String, u32, String, u64);

/// The points of a run, as they grow: in the record and here.
pub(super) struct Book {
    pub(super) recorder: Recorder,
    pub(super) points: Vec<PointLine>,
    /// Where in `points` each of them is.
    places: HashMap<Place, usize>,
}

impl Book {
    /// Goes on from `points`, which the record has.
    pub(super) fn new(recorder: Recorder, points: Vec<PointLine>) -> Self {
        Book {
            recorder,
            places: points.iter().map(place_of).zip(0..).collect(),
            points,
        }
    }

    /// Writes a point down, unless it is there already. It is at hand also if the record cannot take
    /// it.
    pub(super) fn add(&mut self, line: PointLine) -> Result<()> {
        if let Entry::Vacant(place) = self.places.entry(place_of(&line)) {
            place.insert(self.points.len());
            self.points.push(line.clone());
            self.recorder.append(&Line::Point(Box::new(line)))?;
        }
        Ok(())
    }

    /// Whether a case was disturbed in each of so many passes.
    pub(super) fn never_clean(&self, experiment: &Experiment, case: &Case, passes: u32) -> bool {
        (0..passes).all(|pass| {
            let line = self.find(&place(experiment.id, pass, &case.series, case.x));
            let measured = line.and_then(|line| line.point.measured());
            measured.is_some_and(|of| of.quality != Quality::Clean)
        })
    }

    /// Whether an experiment has points of several threads.
    pub(super) fn has_threads(&self, experiment: &Experiment) -> bool {
        let lines = self.points.iter();
        let mut of_it = lines.filter(|line| line.experiment == experiment.id);
        let threads = |line: &PointLine| line.point.measured()?.crew;
        of_it.any(|line| threads(line).is_some_and(|of| of.members > 1))
    }

    /// The point of this place.
    pub(super) fn find(&self, place: &Place) -> Option<&PointLine> {
        self.places.get(place).map(|&index| &self.points[index])
    }

    /// The points of the ladder.
    pub(super) fn ladder(&self) -> Vec<Point> {
        points_of(&self.points, MACHINE)
    }
}

fn place_of(line: &PointLine) -> Place {
    place(
        &line.experiment,
        line.pass,
        &line.point.series,
        line.point.x,
    )
}

/// The place of a point.
pub(super) fn place(experiment: &str, pass: u32, series: &str, x: f64) -> Place {
    (experiment.to_owned(), pass, series.to_owned(), x.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ThreadStats, find};

    /// A point of E18 in a pass, of so many samples, of which so many were disturbed.
    fn line(case: &Case, pass: u32, disturbed: usize) -> PointLine {
        const SAMPLES: usize = 20;
        let sample = |index| [10, 20, 5, u64::from(index < disturbed)];
        let samples: Vec<[u64; 4]> = (0..SAMPLES).map(sample).collect();
        let quiet = SAMPLES - disturbed;
        let line = serde_json::json!({
            "kind": "point", "experiment": "E18", "series": case.series, "x": case.x, "pass": pass,
            "timed": {
                "median": 1.0, "mad": 0.0, "min": 1.0, "lo": 1.0, "hi": 1.0,
                "n": if quiet > 5 { quiet } else { SAMPLES },
                "core_per_tick": 1.0, "operations": 10, "work": [1, 0, 8, 0],
                "pages": "4 KiB", "flags": [format!("disturbed {disturbed}")], "samples": samples,
            },
        });
        serde_json::from_value(line).unwrap()
    }

    /// An undisturbed point of two threads.
    fn of_threads(case: &Case, pass: u32) -> PointLine {
        let mut line = line(case, pass, 0);
        line.point.measured_mut().unwrap().crew = Some(ThreadStats {
            members: 2,
            cpus: 2,
            fastest: 1.0,
            slowest: 1.0,
            pair: Some([0, 1]),
            one_core: false,
            round_trip: None,
            lead: None,
        });
        line
    }

    #[test]
    fn what_was_undisturbed_in_one_pass_is_not_measured_again() {
        let folder = std::env::temp_dir().join(format!("linefill-again-{}", std::process::id()));
        let (recorder, _) = Recorder::create(&folder, []).unwrap();
        let e18 = find("E18").unwrap();
        let case = |x| {
            Case::new(
                "a list",
                x,
                crate::experiment::shared::register::RegisterSetup,
            )
        };
        let (never, once, missing) = (case(1.0), case(2.0), case(3.0));
        let threads = case(4.0);
        let mut book = Book::new(recorder, Vec::new());
        for (pass, disturbed) in [(0, 20), (1, 16)] {
            book.add(line(&never, pass, disturbed)).unwrap();
        }
        for (pass, disturbed) in [(0, 20), (1, 10)] {
            book.add(line(&once, pass, disturbed)).unwrap();
        }
        book.add(line(&missing, 0, 20)).unwrap();
        assert!(!book.has_threads(e18));
        for pass in 0..2 {
            book.add(of_threads(&threads, pass)).unwrap();
        }
        assert!(book.has_threads(e18) && !book.has_threads(find("E19").unwrap()));
        let again = |case| book.never_clean(e18, case, 2);
        assert!(again(&never));
        assert!(!again(&once) && !again(&threads));
        assert!(!again(&missing), "it has one pass yet");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
