//! The points of a run: in the record, and at hand.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::Result;

use super::{Line, Point, PointLine, Recorder};
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
