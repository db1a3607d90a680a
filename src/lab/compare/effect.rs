//! How another record's values of an experiment lie beside the first's: slower or faster, and by how
//! much.

use super::difference::median_of;
use super::{Ahead, Difference, Place};

/// What larger values of a unit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Larger {
    /// Times.
    Slower,
    /// Bytes or operations a time.
    Faster,
    /// Neither: counts and shares.
    More,
}

impl Larger {
    /// By the label of the unit.
    pub fn of(unit: &str) -> Self {
        match unit {
            "GB/s" | "GFLOP/s" | "bytes per cycle" => Larger::Faster,
            unit if unit.starts_with("ns ") || unit.starts_with("cycles ") => Larger::Slower,
            _ => Larger::More,
        }
    }

    /// What larger values and smaller ones are called.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Larger::Slower => ["slower", "faster"],
            Larger::Faster => ["faster", "slower"],
            Larger::More => ["more", "less"],
        }
    }
}

/// What the other record's values of an experiment are beside the first's.
#[derive(Clone, Debug)]
pub struct Effect<'a> {
    /// The experiment, by its first series.
    pub of: &'a Difference,
    /// The median of the other's values over the first's.
    pub median: f64,
    /// Points whose value is surely larger in the other record, surely smaller, and all.
    pub points: [usize; 3],
    /// The point whose ratio is furthest from 1 beyond doubt, if one is.
    pub furthest: Option<(&'a Difference, &'a Place)>,
}

/// The least distance of a median from 1 that is told.
const SAME: f64 = 0.005;

impl Effect<'_> {
    /// What larger values are.
    pub fn larger(&self) -> Larger {
        Larger::of(&self.of.unit)
    }

    /// The median in words: `1.42x slower`.
    pub fn in_words(&self) -> String {
        times(self.median, self.larger())
    }

    /// How many points differ, in words: `12 slower, 1 faster of 40`.
    pub fn points_in_words(&self) -> String {
        let [larger, smaller, all] = self.points;
        let [above, below] = self.larger().words();
        let counts = [(larger, above), (smaller, below)].into_iter();
        let counts = counts.filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match counts.is_empty() {
            true => format!("none of {all} differs"),
            false => format!("{} of {all}", counts.join(", ")),
        }
    }

    /// How far the median is from 1, either way.
    pub(super) fn size(&self) -> f64 {
        self.median.ln().abs()
    }
}

/// A ratio in words: `1.42x slower`, `1.10x faster`, `the same`.
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

/// An effect an experiment, the largest first.
pub fn effects(differences: &[Difference]) -> Vec<Effect<'_>> {
    let groups = differences.chunk_by(|a, b| a.id == b.id);
    let mut effects: Vec<Effect<'_>> = groups.filter_map(effect).collect();
    effects.sort_by(|a, b| b.size().total_cmp(&a.size()));
    effects
}

fn effect(group: &[Difference]) -> Option<Effect<'_>> {
    let median = median_of(group.iter().flat_map(Difference::ratios))?;
    let places = || {
        group
            .iter()
            .flat_map(|of| of.places.iter().map(move |place| (of, place)))
    };
    let count = |ahead| places().filter(|(_, place)| place.ahead() == ahead).count();
    let differs = places().filter(|(_, place)| place.surely() > 1.0);
    Some(Effect {
        of: group.first()?,
        median,
        points: [count(Ahead::Other), count(Ahead::First), places().count()],
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
        assert_eq!(words(1.001, Unit::Count), "the same");
    }
}
