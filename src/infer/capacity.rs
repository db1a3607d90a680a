//! Levels of cache from a ladder: a random walk, one line per element, in growing working sets.

use alloc::vec::Vec;
use core::ops::Range;

use super::found::{Curve, Found, decide};
use crate::stats::{Interval, crossing, knees, median};

/// A level of the hierarchy as a ladder shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Time of a step that finds its element here; the share of drawn ladders that agree within
    /// 5 % is its confidence.
    pub latency: Found<f64>,
    /// Working sets, in bytes, of which surely most steps hit here, and surely most do not; `None`
    /// for memory, which ends nowhere.
    pub ends: Option<Interval>,
}

/// What a ladder rises by in an octave of working sets before it counts as leaving a plateau: the
/// TLB and the last few hits keep none of them level, nor does a level that is hardly larger than
/// the one before it.
const SLOPE: f64 = 1.3;

/// What a step rises by in all: from one level to the next it is a factor of two and more.
const RISE: f64 = 1.5;

/// How far a latency may lie from another and be the same.
const SAME: f64 = 0.05;

/// A stretch of a ladder along which hardly anything changes.
pub(super) struct Plateau {
    /// Its points.
    pub(super) points: Range<usize>,
    /// The median along it.
    pub(super) median: f64,
    /// Its ends: a plateau rises a little, for the TLB's sake and others', and the levels beside it
    /// are to be held against the nearer one.
    pub(super) first: f64,
    pub(super) last: f64,
}

/// The plateaus of a ladder, from the nearest level to memory.
pub(super) fn plateaus(points: &[(f64, f64)]) -> Vec<Plateau> {
    let costs: Vec<f64> = points.iter().map(|point| point.1).collect();
    if costs.is_empty() || costs.iter().any(|cost| *cost <= 0.0) {
        return Vec::new();
    }
    // A straight line between none and two octaves is close enough.
    let slope = |index: usize| {
        let ratio = points[index + 1].0 / points[index].0;
        1.0 + (SLOPE - 1.0) * octaves(ratio)
    };
    let plateau = |points: Range<usize>| {
        let range = &costs[points.clone()];
        let mut sorted = range.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Plateau {
            points,
            median: median(&sorted)?,
            first: *range.first()?,
            last: *range.last()?,
        })
    };
    let mut plateaus = Vec::new();
    let mut from = 0;
    knees(&costs, slope, RISE, |knee| {
        let (mut before, after) = (knee.before, knee.after);
        while let Some(shelf) = shelf(&costs[before..=after]) {
            plateaus.extend(plateau(from..before + 1));
            (from, before) = (before + shelf.start, before + shelf.end - 1);
        }
        plateaus.extend(plateau(from..before + 1));
        from = after;
    });
    plateaus.extend(plateau(from..costs.len()));
    plateaus
}

/// The points of a rise between which it is far less steep than before them and behind them, if
/// there are any: a level that is hardly larger than the one before it has no plateau, but a shelf.
fn shelf(costs: &[f64]) -> Option<Range<usize>> {
    let rise = |index: usize| costs[index + 1] / costs[index];
    let pairs = costs.len() - 1;
    // The steepest of the pairs before each, and of those behind.
    let steepest = |steepest: &mut f64, index: usize| {
        let before = *steepest;
        *steepest = steepest.max(rise(index));
        Some(before)
    };
    let before: Vec<f64> = (0..pairs).scan(0.0, steepest).collect();
    let behind: Vec<f64> = (0..pairs).rev().scan(0.0, steepest).collect();
    // Half as steep at most, on a logarithmic scale.
    let gentle = |index: usize| {
        let beside = before[index].min(behind[pairs - 1 - index]);
        rise(index) * rise(index) < beside
    };
    let least = (0..pairs).filter(|&index| gentle(index));
    let least = least.min_by(|&a, &b| rise(a).total_cmp(&rise(b)))?;
    let start = (0..=least)
        .rev()
        .take_while(|&index| gentle(index))
        .last()?;
    let end = (least..pairs).take_while(|&index| gentle(index)).last()? + 1;
    let steps = costs[start] / costs[0] >= RISE && costs[pairs] / costs[end] >= RISE;
    steps.then_some(start..end + 1)
}

/// Octaves of a ratio, 64 at most, by halving: `log2` wants std.
fn octaves(ratio: f64) -> f64 {
    const MOST: f64 = (1_u128 << 64) as f64;
    let (mut rest, mut octaves) = (ratio.min(MOST), 0.0);
    while rest >= 2.0 {
        rest /= 2.0;
        octaves += 1.0;
    }
    octaves + (rest - 1.0)
}

/// The levels that a ladder shows, memory the last. Empty if a value is not positive.
pub fn levels(ladder: &Curve) -> Vec<Level> {
    let middles: Vec<(f64, f64)> = ladder.iter().map(|(x, y)| (*x, y.middle())).collect();
    let all = plateaus(&middles);
    let mut levels = Vec::new();
    for (index, Plateau { median, last, .. }) in all.iter().enumerate() {
        let latency = *median;
        let near = decide(ladder, |points| {
            let drawn = plateaus(points);
            let near = |drawn: &Plateau| (drawn.median / latency - 1.0).abs() < SAME;
            (drawn.len() == all.len() && near(&drawn[index])).then_some(())
        });
        // Half of the steps hit where the time is halfway to the next level's.
        let ends = all
            .get(index + 1)
            .and_then(|next| crossing(ladder, (last + next.first) / 2.0));
        levels.push(Level {
            latency: Found {
                value: latency,
                confidence: near.map_or(0.0, |near| near.confidence),
            },
            ends,
        });
    }
    levels
}
