//! Figures over the rounds of a record: their values, medians and outliers.

use std::collections::{BTreeSet, HashMap};

use crate::experiment::{Evidence, Experiment, Machine, Percentile, Point, State, Unit, find};
use crate::lab::chart::{AxisView, number, place};
use crate::lab::fleet::{Figure, Spread, Value};
use crate::lab::record::{MACHINE, Record, RoundLine, points_of};
use crate::lab::report::build::axis;
use crate::order::unique;
use crate::recorded::machine_of;
use crate::stats::{Interval, median_of};

/// The figure that every record has. A thermal or power limit lowers the clock first, and times in core
/// cycles do not show it.
const CLOCK: &str = "core clock";

/// All figures of a record over its rounds.
#[derive(Debug)]
pub(crate) struct Timeline {
    machine: Machine,
    pub times: Vec<Time>,
    /// The figures, in the order in which they first occur.
    pub figures: Vec<TrackedFigure>,
    places: HashMap<Key, usize>,
}

/// Experiment, series, position and unit.
type Key = (String, String, u64, &'static str);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    pub number: u64,
    /// Seconds since 1970.
    pub started: u64,
    /// Seconds since the first round.
    pub at: f64,
}

/// A figure over the rounds.
#[derive(Debug)]
pub(crate) struct TrackedFigure {
    /// The experiment; `None` for the core clock.
    pub experiment: Option<&'static Experiment>,
    /// The experiment's id, or [`MACHINE`].
    pub id: String,
    /// The series.
    pub label: String,
    /// The horizontal axis of the experiment's chart, if the chart draws the points themselves.
    pub axis: Option<AxisView>,
    pub unit: &'static str,
    /// The position on the axis, and the values. `host` of a value is the index of its round.
    pub figure: Figure,
}

/// A value outside the usual range: an outlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outside {
    /// The index of the round.
    pub round: usize,
    pub value: f64,
    /// The modified z-score of the value.
    pub score: f64,
}

impl Timeline {
    pub fn of(record: &Record) -> Self {
        let ladder = points_of(&record.points, MACHINE);
        let mut timeline = Timeline {
            machine: machine_of(&record.header, &ladder),
            times: Vec::new(),
            figures: Vec::new(),
            places: HashMap::new(),
        };
        for round in &record.rounds {
            timeline.add(round);
        }
        timeline
    }

    pub fn add(&mut self, round: &RoundLine) {
        self.times.push(Time { number: round.number, started: round.started, at: round.at });
        self.clock(round);
        for id in unique(round.points.iter().map(|line| &line.experiment)) {
            // The unit of an experiment that this version does not know is unknown.
            if let Some(experiment) = find(id) {
                self.points(experiment, &points_of(&round.points, id));
            }
        }
    }

    fn clock(&mut self, round: &RoundLine) {
        let points = round.points.iter().filter_map(|of| of.point.measured());
        if let Some(ratio) = median_of(points.filter_map(|of| of.core_per_tick)) {
            let clock = ratio * self.machine.rate.hz() / 1e9;
            let found = TrackedFigure {
                experiment: None,
                id: MACHINE.to_owned(),
                label: CLOCK.to_owned(),
                axis: None,
                unit: "GHz",
                figure: Figure::default(),
            };
            self.value(found, Interval::exact(clock));
        }
    }

    /// Adds the points of an experiment. A point that the experiment's chart draws has the value that the
    /// chart shows. Curves computed from several points are left out: their positions differ from round to
    /// round.
    fn points(&mut self, experiment: &'static Experiment, points: &[Point]) {
        let curves = (experiment.curves)(&Evidence::new(&self.machine, points, experiment.unit()));
        let rate = self.machine.rate;
        for point in points {
            let drawn = experiment.plot.and_then(|plot| {
                let curve = curves.iter().find(|curve| curve.label == point.series)?;
                let (_, value) = curve.points.iter().find(|(x, _)| *x == point.x)?;
                Some((plot, *value))
            });
            let axis = drawn.map(|(plot, _)| axis(plot.x));
            // Core cycles need a yardstick, and some units need a point that moves bytes. Otherwise use
            // nanoseconds.
            let in_unit = |unit| Some((unit, point.interval(unit, rate).ok()?));
            let value = drawn
                .map(|(plot, value)| (plot.unit, value))
                .or_else(|| in_unit(experiment.unit()))
                .or_else(|| in_unit(Unit::Nanoseconds));
            let Some((unit, value)) = value else { continue };
            let unit = if matches!(point.state, State::Counted(_)) { "" } else { unit.label() };
            let mut follow = |label: String, unit, value| {
                let found = TrackedFigure {
                    experiment: Some(experiment),
                    id: experiment.id.to_owned(),
                    label,
                    axis: axis.clone(),
                    unit,
                    figure: Figure { x: point.x, values: Vec::new() },
                };
                self.value(found, value);
            };
            follow(point.series.clone(), unit, value);
            // The tail of runs that were timed one by one.
            let slow = point
                .measured()
                .and_then(|of| of.percentile(Percentile::P99, Unit::Nanoseconds, rate).ok());
            if let Some(slow) = slow {
                follow(format!("p99 of {}", point.series), Unit::Nanoseconds.label(), slow);
            }
        }
    }

    /// Stores a value of the last round in its figure, which is `found` in the first round that has it.
    fn value(&mut self, found: TrackedFigure, value: Interval) {
        let x = (found.figure.x + 0.0).to_bits();
        let key = (found.id.clone(), found.label.clone(), x, found.unit);
        let figures = &mut self.figures;
        let index = *self.places.entry(key).or_insert_with(|| {
            figures.push(found);
            figures.len() - 1
        });
        let host = u32::try_from(self.times.len() - 1).unwrap_or(u32::MAX);
        let values = &mut figures[index].figure.values;
        // A series may have two points at one position: the first counts.
        if value.middle().is_finite() && values.last().is_none_or(|last| last.host != host) {
            values.push(Value::of(host, value));
        }
    }

    /// Returns the indices of the rounds in which at least one figure is outside.
    pub fn rounds_outside(&self) -> BTreeSet<usize> {
        self.figures.iter().flat_map(TrackedFigure::outside).map(|of| of.round).collect()
    }
}

impl TrackedFigure {
    /// Returns the distribution of the values, if there are any.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(&self.figure)
    }

    /// Returns the values outside, in the order of the rounds.
    pub fn outside(&self) -> Vec<Outside> {
        let Some(spread) = self.spread() else { return Vec::new() };
        let values = self.figure.values.iter();
        let outside = |of: &Value| {
            Some(Outside {
                round: of.host as usize,
                value: f64::from(of.mid),
                score: spread.outside(of)?,
            })
        };
        values.filter_map(outside).collect()
    }

    /// Formats the position on the axis; empty for a figure without an axis.
    pub fn place(&self) -> String {
        match (&self.axis, self.experiment) {
            (Some(axis), _) => place(axis, self.figure.x),
            (None, Some(_)) => number(self.figure.x),
            (None, None) => String::new(),
        }
    }

    /// Returns the unit in the short form used beside a number.
    pub fn short_unit(&self) -> &'static str {
        self.unit.strip_suffix(" per operation").unwrap_or(self.unit)
    }

    /// Returns the name: `X16 read, 4 MiB`.
    pub fn name(&self) -> String {
        let place = self.place();
        let id = self.experiment.map_or_else(String::new, |of| format!("{} ", of.id));
        match place.as_str() {
            "" => format!("{id}{}", self.label),
            place => format!("{id}{}, {place}", self.label),
        }
    }
}

/// Returns at most `most` figures: all if they fit, else the last position of each series, then, as long as
/// there is room, the first position of each series and evenly spread figures.
pub(crate) fn some(figures: &[TrackedFigure], most: usize) -> Vec<&TrackedFigure> {
    if figures.len() <= most {
        return figures.iter().collect();
    }
    let mut ends: Vec<[usize; 2]> = Vec::new();
    for (index, figure) in figures.iter().enumerate() {
        let x = |at: usize| figures[at].figure.x;
        let same = |of: &&mut [usize; 2]| {
            let first = &figures[of[0]];
            first.id == figure.id && first.label == figure.label
        };
        match ends.iter_mut().find(same) {
            Some([_, last]) if x(*last) < figure.figure.x => *last = index,
            Some([first, _]) if x(*first) > figure.figure.x => *first = index,
            Some(_) => {}
            None => ends.push([index; 2]),
        }
    }
    let lasts = ends.iter().map(|[_, last]| *last);
    let firsts = ends.iter().map(|[first, _]| *first);
    let mut chosen: Vec<usize> = Vec::new();
    let even = (0..most).map(|step| step * figures.len() / most);
    for index in lasts.chain(firsts).chain(even) {
        if chosen.len() < most && !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| &figures[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::watch::planted;

    #[test]
    fn every_point_is_a_figure_and_has_a_value_per_round() {
        let record = planted(20, |_| 1.0);
        let timeline = Timeline::of(&record);
        assert_eq!(timeline.figures.len(), 1 + record.rounds[0].points.len());
        assert!(timeline.figures.iter().all(|of| of.figure.values.len() == 20));
        assert!(timeline.rounds_outside().is_empty());
        assert_eq!(timeline.figures[0].name(), "core clock");
        assert!(timeline.figures[1].name().starts_with("D14 NPAD=0, 4 KiB"));
    }

    #[test]
    fn a_round_that_is_slower_is_outside_in_its_times_alone() {
        let timeline = Timeline::of(&planted(20, |round| if round == 7 { 1.5 } else { 1.0 }));
        assert_eq!(timeline.rounds_outside(), BTreeSet::from([7]));
        assert!(timeline.figures[0].outside().is_empty(), "the clock");
        assert!(timeline.figures[1..].iter().all(|of| of.outside().len() == 1));
    }

    /// The chart of X17 shows the bandwidth of all threads, its points show the bandwidth of one thread.
    #[test]
    fn what_a_chart_shows_is_followed() {
        let mut record = planted(3, |_| 1.0);
        for round in &mut record.rounds {
            let mut line = round.points[0].clone();
            let point = &mut line.point;
            (line.experiment, point.series, point.x) = ("X17".into(), "read, memory".into(), 8.0);
            round.points = vec![line];
        }
        let timeline = Timeline::of(&record);
        let [_, all] = &timeline.figures[..] else { panic!("{:?}", timeline.figures) };
        assert_eq!(all.name(), "X17 read, memory, 8");
        let point = &record.rounds[0].points[0].point;
        let of_one = point.interval(Unit::GigabytesPerSecond, timeline.machine.rate);
        let times = f64::from(all.figure.values[0].mid) / of_one.unwrap().middle();
        assert!((times - 8.0).abs() < 0.01, "{times}");
    }

    /// Without a core clock, the times of a round are in nanoseconds instead of cycles.
    #[test]
    fn values_in_another_unit_are_another_figure() {
        let mut record = planted(20, |_| 1.0);
        for line in &mut record.rounds[7].points {
            line.point.measured_mut().unwrap().core_per_tick = None;
        }
        let timeline = Timeline::of(&record);
        assert!(timeline.rounds_outside().is_empty());
        let count = |unit: &str, rounds: usize| {
            let figures = timeline.figures.iter();
            let of = figures.filter(|of| of.unit == unit && of.figure.values.len() == rounds);
            of.count()
        };
        let points = record.rounds[0].points.len();
        assert_eq!(count("cycles per operation", 19), points);
        assert_eq!(count("ns per operation", 1), points);
    }

    #[test]
    fn a_few_figures_are_the_ends_of_their_series() {
        let timeline = Timeline::of(&planted(1, |_| 1.0));
        let names = |most| -> Vec<String> {
            some(&timeline.figures, most).iter().map(|of| of.name()).collect()
        };
        assert_eq!(names(1000).len(), timeline.figures.len());
        let ends = ["core clock", "D14 NPAD=0, 4 KiB", "D14 NPAD=0, 256 MiB"];
        assert_eq!(names(1), ends[..1]);
        assert_eq!(names(2), [ends[0], ends[2]]);
        assert_eq!(names(3), ends);
        assert_eq!(names(12).len(), 12);
    }
}
