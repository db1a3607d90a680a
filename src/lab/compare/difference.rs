//! The differences between two records, and the effect per experiment: slower or faster, and by how much.

use std::cmp::Ordering;

use super::Side;
use crate::experiment::{Verdict, topics};
use crate::lab::analysis::is_unfinished;
use crate::lab::record::{MACHINE, VerdictLine};
use crate::lab::report::view::{AxisView, CurveView, Figure, Section, Value};
use crate::order::greatest_first;
use crate::stats::{Interval, median_of};

/// Least uncertainty of a measured value in a comparison, as a share. The passes of one run do not show the
/// variation between runs.
const BETWEEN_RECORDS: f64 = 0.01;

/// A series that both records have.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The family, id, name and title of the experiment.
    pub family: &'static str,
    pub id: String,
    pub name: String,
    pub title: String,
    pub axis: AxisView,
    pub unit: String,
    pub series: String,
    /// Places where both records have a value, from left to right.
    pub places: Vec<Place>,
    /// Number of points that only one of the records has.
    pub alone: usize,
}

/// A point that both records have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub x: f64,
    /// The first record's value.
    pub a: Value,
    /// The other record's value.
    pub b: Value,
    /// The other record's value over the first's; `None` unless both values are positive.
    pub ratio: Option<Interval>,
}

impl Place {
    /// Returns the other record's value over the first's. The interval of the ratio contains this quotient.
    pub fn times(&self) -> Option<f64> {
        self.ratio.map(|_| self.b.mid / self.a.mid)
    }

    /// Returns the least factor by which the values surely differ.
    pub fn surely(&self) -> f64 {
        surely(self.ratio)
    }

    /// Returns how the other record's value compares with the first's beyond doubt. `Equal` if the interval of
    /// the ratio contains 1.
    pub fn ahead(&self) -> Ordering {
        match self.ratio {
            Some(ratio) if ratio.lo > 1.0 => Ordering::Greater,
            Some(ratio) if ratio.hi < 1.0 => Ordering::Less,
            _ => Ordering::Equal,
        }
    }
}

/// Returns the least factor between two values with this ratio; 1 if the interval of the ratio contains 1.
pub(super) fn surely(ratio: Option<Interval>) -> f64 {
    match ratio {
        Some(ratio) if ratio.lo > 1.0 => ratio.lo,
        Some(ratio) if ratio.hi < 1.0 => 1.0 / ratio.hi,
        _ => 1.0,
    }
}

impl Difference {
    /// Returns the median of the ratios; `None` if there are none.
    pub fn median(&self) -> Option<f64> {
        median_of(self.ratios())
    }

    /// Returns the other record's values over the first's.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        self.places.iter().filter_map(Place::times)
    }
}

/// Returns the family of an experiment. The ladder of a run is a family of its own.
pub(crate) fn family_of(id: &str) -> &'static str {
    match id {
        MACHINE => MACHINE,
        id => topics::of(id).map_or("", |family| family.name),
    }
}

/// Returns the series that both records have, experiment by experiment. Series in different units are left
/// out: a machine without a core clock has no cycles.
pub fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let mut differences = Vec::new();
    for ours in &a.view.sections {
        let same = |theirs: &&Section| theirs.id == ours.id;
        let Some(theirs) = b.view.sections.iter().find(same) else { continue };
        let (Some(first), Some(other)) = (&ours.figure, &theirs.figure) else { continue };
        if first.unit != other.unit {
            continue;
        }
        for curve in &first.curves {
            let same = |other: &&CurveView| other.label == curve.label;
            if let Some(other) = other.curves.iter().find(same) {
                differences.push(difference(ours, first, curve, other));
            }
        }
    }
    differences
}

fn difference(section: &Section, figure: &Figure, a: &CurveView, b: &CurveView) -> Difference {
    let place = |value: &Value| {
        let other = b.points.iter().find(|other| other.x == value.x)?;
        let ratio = interval(other, figure).ratio(interval(value, figure));
        Some(Place { x: value.x, a: *value, b: *other, ratio })
    };
    let places: Vec<Place> = a.points.iter().filter_map(place).collect();
    Difference {
        family: family_of(&section.id),
        id: section.id.clone(),
        name: section.name.clone(),
        title: section.title.clone(),
        axis: figure.x.clone(),
        unit: figure.unit.clone(),
        series: a.label.clone(),
        alone: a.points.len() + b.points.len() - 2 * places.len(),
        places,
    }
}

/// Returns the interval of a value with the uncertainty of a comparison. Counts are exact.
fn interval(value: &Value, figure: &Figure) -> Interval {
    let interval = Interval::new(value.lo, value.hi);
    if figure.unit.is_empty() { interval } else { interval.widened(BETWEEN_RECORDS) }
}

/// Returns the verdicts on each claim, one per record; `None` if the record has none on this claim.
pub(super) fn joined(sides: &[Side]) -> Vec<Vec<Option<&VerdictLine>>> {
    let mut seen: Vec<&VerdictLine> = Vec::new();
    for (_, claim) in sides.iter().flat_map(|side| side.view.claims()) {
        if !seen.iter().any(|other| other.is_on(claim)) {
            seen.push(claim);
        }
    }
    let row = |claim: &VerdictLine| {
        let claims = sides.iter().map(|side| side.view.claims());
        claims.map(|mut all| Some(all.find(|(_, other)| other.is_on(claim))?.1)).collect()
    };
    seen.into_iter().map(row).collect()
}

/// Returns whether at least two records have verdicts, and these differ. A record that lacks the points for a
/// claim has no verdict on it.
pub(super) fn differs(row: &[Option<&VerdictLine>]) -> bool {
    let judged = row.iter().flatten().filter(|line| !is_unfinished(line));
    let mut verdicts = judged.map(|line| line.verdict);
    let first = verdicts.next();
    verdicts.any(|verdict| Some(verdict) != first)
}

/// Returns the claims on which at least two records have verdicts, and these differ: the claim as the first
/// of them has it, with the verdict of each record.
pub(super) fn changed(sides: &[Side]) -> Vec<(&VerdictLine, Vec<Option<Verdict>>)> {
    let rows = joined(sides).into_iter().filter(|row| differs(row));
    let changed = rows.filter_map(|row| {
        let verdicts = row.iter().map(|line| line.map(|line| line.verdict));
        Some((*row.iter().flatten().next()?, verdicts.collect()))
    });
    changed.collect()
}

/// The meaning of larger values of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Larger {
    /// Slower: the unit is a time.
    Slower,
    /// Faster: the unit is bytes or operations per time.
    Faster,
    /// Neither: the values are counts or shares.
    More,
}

impl Larger {
    /// Returns the meaning for the label of a unit.
    pub fn of(unit: &str) -> Self {
        match unit {
            "GB/s" | "GFLOP/s" | "bytes per cycle" => Larger::Faster,
            unit if unit.starts_with("ns ") || unit.starts_with("cycles per ") => Larger::Slower,
            _ => Larger::More,
        }
    }

    /// Returns the words for larger and for smaller values.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Larger::Slower => ["slower", "faster"],
            Larger::Faster => ["faster", "slower"],
            Larger::More => ["more", "less"],
        }
    }
}

/// The effect on an experiment: the other record's values relative to the first record's.
#[derive(Clone, Debug)]
pub struct Effect<'a> {
    /// The first series of the experiment.
    pub of: &'a Difference,
    /// Median of the ratios of the other record's values to the first's.
    pub median: f64,
    /// Number of points whose value is certainly larger in the other record, certainly smaller, and of all
    /// points.
    pub points: [usize; 3],
    /// The point with the largest certain factor between the values, if the values of any point certainly
    /// differ.
    pub furthest: Option<(&'a Difference, &'a Place)>,
}

/// Ratios closer to 1 than this are called the same.
const SAME: f64 = 0.005;

impl Effect<'_> {
    pub fn larger(&self) -> Larger {
        Larger::of(&self.of.unit)
    }

    /// Formats the median: `1.42x slower`.
    pub fn in_words(&self) -> String {
        times(self.median, self.larger())
    }

    /// Formats the numbers of points that differ: `12 slower, 1 faster of 40`.
    pub fn points_in_words(&self) -> String {
        let [larger, smaller, all] = self.points;
        let [above, below] = self.larger().words();
        let counts = [(larger, above), (smaller, below)].into_iter();
        let counts = counts.filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        match counts.is_empty() {
            true => format!("none of {all} differs"),
            false => format!("{} of {all}", counts.join(", ")),
        }
    }

    pub(super) fn size(&self) -> f64 {
        self.median.ln().abs()
    }
}

/// Formats a ratio: `1.42x slower`, `1.10x faster`, `the same`.
pub fn times(ratio: f64, larger: Larger) -> String {
    let [above, below] = larger.words();
    match ratio {
        ratio if (ratio - 1.0).abs() < SAME => "the same".to_owned(),
        ratio if ratio > 1.0 => format!("{}x {above}", digits(ratio)),
        ratio => format!("{}x {below}", digits(1.0 / ratio)),
    }
}

fn digits(times: f64) -> String {
    match times {
        100.0.. => format!("{times:.0}"),
        10.0.. => format!("{times:.1}"),
        _ => format!("{times:.2}"),
    }
}

/// Returns the effect on each experiment, the largest first.
pub fn effects(differences: &[Difference]) -> Vec<Effect<'_>> {
    let groups = differences.chunk_by(|a, b| a.id == b.id);
    let mut effects: Vec<Effect<'_>> = groups.filter_map(effect).collect();
    greatest_first(&mut effects, Effect::size);
    effects
}

fn effect(group: &[Difference]) -> Option<Effect<'_>> {
    let median = median_of(group.iter().flat_map(Difference::ratios))?;
    let places = || group.iter().flat_map(|of| of.places.iter().map(move |place| (of, place)));
    let count = |ahead| places().filter(|(_, place)| place.ahead() == ahead).count();
    let differs = places().filter(|(_, place)| place.surely() > 1.0);
    Some(Effect {
        of: group.first()?,
        median,
        points: [count(Ordering::Greater), count(Ordering::Less), places().count()],
        furthest: differs.max_by(|a, b| a.1.surely().total_cmp(&b.1.surely())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Unit;

    #[test]
    fn more_time_is_slower_and_more_bandwidth_is_faster() {
        let words = |ratio, unit: Unit| times(ratio, Larger::of(unit.label()));
        assert_eq!(words(1.5, Unit::CoreCycles), "1.50x slower");
        assert_eq!(words(0.5, Unit::CyclesPerInstruction), "2.00x faster");
        assert_eq!(words(2.0, Unit::Nanoseconds), "2.00x slower");
        assert_eq!(words(0.05, Unit::GigabytesPerSecond), "20.0x slower");
        assert_eq!(words(1.25, Unit::BytesPerCycle), "1.25x faster");
        assert_eq!(words(3.0, Unit::Percent), "3.00x more");
        assert_eq!(words(2.0, Unit::Events), "2.00x more");
        assert_eq!(words(1.001, Unit::Count), "the same");
    }
}
