//! What a record has points of, and the curves that are drawn of them, without the rest of an analysis.

use super::record::{MACHINE, Record};
use super::undecided::points_by_id;
use crate::experiment::{
    Axis, Curve, Evidence, Experiment, LADDER, Machine, Plot, Point, Unit, all,
};
use crate::recorded::machine_of;

/// The points of an experiment, the passes over each merged.
pub(crate) struct Drawn<'r> {
    /// Its id.
    pub id: &'r str,
    /// The experiment; none of the ladder, and of what this version does not know.
    pub experiment: Option<&'static Experiment>,
    /// The points.
    pub points: Vec<Point>,
}

/// What was measured: the ladder, the experiments in the order of the registry, and those that this version
/// does not know.
pub(crate) fn drawn(record: &Record) -> (Machine, Vec<Drawn<'_>>) {
    let by_id = points_by_id(&record.points);
    let ladder = by_id.get(MACHINE).map_or(&[][..], Vec::as_slice);
    let machine = machine_of(&record.header, ladder);
    let known = all();
    let mut found: Vec<Drawn<'_>> = by_id
        .into_iter()
        .map(|(id, points)| Drawn {
            id,
            experiment: known.iter().find(|of| of.id == id).copied(),
            points,
        })
        .collect();
    let place = |of: &Drawn<'_>| match of.id {
        MACHINE => 0,
        id => {
            let place = known.iter().position(|row| row.id == id);
            place.unwrap_or(known.len()) + 1
        }
    };
    found.sort_by(|a, b| place(a).cmp(&place(b)).then(a.id.cmp(b.id)));
    (machine, found)
}

impl Drawn<'_> {
    /// Its curves and their unit. Of the ladder that is its walk, in nanoseconds where there is no clock of
    /// the core.
    pub fn curves(&self, machine: &Machine) -> (Vec<Curve>, Unit) {
        let Some(experiment) = self.experiment else {
            return self.ladder(machine);
        };
        let evidence = Evidence::new(machine, &self.points, experiment.unit());
        let unit = self.plot().map_or(Unit::CoreCycles, |plot| plot.unit);
        ((experiment.curves)(&evidence), unit)
    }

    /// How it is drawn, if it is.
    pub fn plot(&self) -> Option<Plot> {
        self.experiment.and_then(|of| of.plot)
    }

    /// The horizontal axis.
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
