//! Levels of cache from a ladder: a random walk, one line per element, in growing working sets. And the
//! size of a level, from the way in which the ladder leaves it.

use alloc::vec::Vec;
use core::iter::successors;
use core::ops::Range;

use super::{Curve, Found, decide, drawn};
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

/// The size that the level at `index` from the nearest is built with: a power of two, or one and a
/// half or one and a quarter of one, for that is how caches come. A share of a larger cache comes in
/// any size. `None` if the ladder does not show the level's end.
///
/// It is the size that explains the rise to the next level best, be the sets chosen by addresses or,
/// from pages that lie anywhere, by chance. A size that is no power of two has to be off by half as much
/// as one that is; several that end between the same two rungs explain it alike, and each is no surer than the
/// others leave it.
pub fn size(ladder: &Curve, index: usize) -> Option<Found<f64>> {
    let found = decide(ladder, |points| likely(points, index))?;
    let middles: Vec<(f64, f64)> = ladder.iter().map(|(x, y)| (*x, y.middle())).collect();
    let fits = fits(&middles, index);
    let off = |fit: &Fit| fit.off;
    let best = fits.iter().map(off).fold(f64::INFINITY, f64::min);
    let as_good = fits.iter().map(off).filter(|off| *off <= ALIKE * best);
    Some(Found {
        confidence: found.confidence / as_good.count().max(1) as f64,
        ..found
    })
}

/// The size that explains two ladders over the same level best, where each by itself comes to another:
/// what both are off by counts together, and an unusual size has to make up for itself in both. `None`
/// if no size lies near the ends that both show.
pub fn size_of_both(ladders: [&Curve; 2], index: usize) -> Option<Found<f64>> {
    let [first, second] = ladders;
    let both = [first, second].concat();
    decide(&both, |points| {
        let (first, second) = points.split_at(first.len());
        let others = fits(second, index);
        let sums = fits(first, index).into_iter().filter_map(|fit| {
            let other = others.iter().find(|other| other.bytes == fit.bytes)?;
            Some((fit.bytes, fit.doubt + other.doubt))
        });
        let best = sums.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(best.0)
    })
}

/// The least and the largest of the sizes that curves drawn within the intervals come to: what can be
/// said where [`size`] is not sure. `None` if none of them shows the level's end.
pub fn size_range(ladder: &Curve, index: usize) -> Option<[f64; 2]> {
    let sizes = drawn(ladder).filter_map(|points| likely(&points, index));
    let range = |[least, most]: [f64; 2], size: f64| [least.min(size), most.max(size)];
    sizes
        .map(|size| [size, size])
        .reduce(|all, [size, _]| range(all, size))
}

fn likely(points: &[(f64, f64)], index: usize) -> Option<f64> {
    let fits = fits(points, index);
    let best = fits.into_iter().min_by(|a, b| a.doubt.total_cmp(&b.doubt));
    best.map(|best| best.bytes)
}

/// How well a size explains a ladder.
struct Fit {
    bytes: f64,
    /// The mean square of what it is off by, as a share of what was measured.
    off: f64,
    /// The same, and more if it is an unusual size.
    doubt: f64,
}

/// A share of a power of two in which caches are built.
struct Share {
    of_power: f64,
    /// What counts for its mean squares: the TLB, neighbours and luck leave more of every ladder than the
    /// power of two next to it does.
    weight: f64,
    /// Ways of such caches: their sets are a power of two, so that it is the ways that are not. Those of a
    /// cache that has others are explained by one of the two.
    ways: [u32; 2],
}

const SHARES: [Share; 3] = [
    Share {
        of_power: 1.0,
        weight: 1.0,
        ways: [8, 16],
    },
    Share {
        of_power: 1.5,
        weight: 4.0,
        ways: [12, 24],
    },
    Share {
        of_power: 1.25,
        weight: 4.0,
        ways: [10, 20],
    },
];

/// How far a size may lie from the working set of which half of the steps hit, as a factor.
const NEARBY: f64 = 1.6;

/// The sizes whose squares are this much greater at most explain a ladder alike: it is for those
/// that say the very same.
const ALIKE: f64 = 1.01;

/// All sizes nearby, each as it explains these points best.
fn fits(points: &[(f64, f64)], index: usize) -> Vec<Fit> {
    let all = plateaus(points);
    let (Some(near), Some(far)) = (all.get(index), all.get(index + 1)) else {
        return Vec::new();
    };
    let Some((half, rise)) = rise(points, near, far) else {
        return Vec::new();
    };
    let (rise, near) = (&points[rise], near.median);
    let sizes = SHARES.iter().flat_map(|share| {
        let powers = successors(Some(1024.0 * share.of_power), |bytes| Some(bytes * 2.0));
        powers
            .skip_while(move |bytes| bytes * NEARBY < half)
            .take_while(move |bytes| *bytes < half * NEARBY)
            .map(move |bytes| (bytes, share))
    });
    sizes
        .filter_map(|(bytes, share)| {
            let off = off_by(rise, near, bytes, share.ways)?;
            Some(Fit {
                bytes,
                off,
                doubt: off * share.weight,
            })
        })
        .collect()
}

/// The working set of which half of the steps hit, about, and the points around it that know nothing
/// but these two levels.
fn rise(points: &[(f64, f64)], near: &Plateau, far: &Plateau) -> Option<(f64, Range<usize>)> {
    let middle = (near.last + far.first) / 2.0;
    let around = near.points.start..far.points.end;
    let after = points[around.clone()]
        .iter()
        .position(|(_, time)| *time > middle)?;
    let half = points[around.start + after].0;
    let within = |(at, _): &(f64, f64)| (half / 4.0..=half * 3.0).contains(at);
    let first = around.start + points[around.clone()].iter().position(within)?;
    let last = around.start + points[around].iter().rposition(within)?;
    Some((half, first..last + 1))
}

/// The mean square of what a cache of so many bytes is off by at best.
fn off_by(points: &[(f64, f64)], near: f64, bytes: f64, ways: [u32; 2]) -> Option<f64> {
    let shapes = ways.into_iter().flat_map(|ways| {
        let full = move |at: f64| f64::from(ways) * at / bytes;
        let even: Vec<f64> = points
            .iter()
            .map(|(at, _)| evenly(full(*at), ways))
            .collect();
        let chance: Vec<f64> = points
            .iter()
            .map(|(at, _)| by_chance(full(*at), ways))
            .collect();
        [even, chance]
    });
    let off = shapes.filter_map(|hits| off_with(points, near, &hits));
    off.reduce(f64::min)
}

/// The mean square of what is left of the points if this share of the steps hits at each, for the
/// latency of the next level that leaves the least. `None` if no slower level does.
fn off_with(points: &[(f64, f64)], near: f64, hits: &[f64]) -> Option<f64> {
    // Least squares of `misses * far = time - hits * near`, both sides over the time.
    let [mut squares, mut products] = [0.0; 2];
    for ((_, time), hits) in points.iter().zip(hits) {
        let misses = (1.0 - hits) / time;
        squares += misses * misses;
        products += misses * (1.0 - hits * near / time);
    }
    let far = products / squares;
    let off = points.iter().zip(hits).map(|((_, time), hits)| {
        let off = (hits * near + (1.0 - hits) * far) / time - 1.0;
        off * off
    });
    (far > near).then(|| off.sum::<f64>() / points.len() as f64)
}

/// The share of steps that hit if every set has to hold `filling` lines, or the whole numbers around
/// that: a set that has to hold more than its ways keeps none until it is needed.
fn evenly(filling: f64, ways: u32) -> f64 {
    let fewer = f64::from(filling as u32);
    let in_fuller_sets = (filling - fewer) * (fewer + 1.0) / filling;
    let fits = |lines: f64| f64::from(u8::from(lines <= f64::from(ways)));
    (1.0 - in_fuller_sets) * fits(fewer) + in_fuller_sets * fits(fewer + 1.0)
}

/// The same if chance chooses the sets: a line hits whose companions are fewer than the ways, and of
/// those there are as many as Poisson's distribution says, of mean `filling`.
fn by_chance(filling: f64, ways: u32) -> f64 {
    // The sum takes as many terms as the mean is large, and here it is 0 in double precision.
    if filling > 128.0 * f64::from(ways) {
        return 0.0;
    }
    // Each term over the first, whose exponential wants std, and which the share is free of.
    let [mut term, mut fewer, mut all, mut companions] = [1.0, 0.0, 0.0, 0.0];
    while companions < filling || term > 1e-9 * all {
        all += term;
        if companions < f64::from(ways) {
            fewer += term;
        }
        companions += 1.0;
        term *= filling / companions;
    }
    fewer / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_hits_are_those_of_the_model() {
        // Poisson of mean 8, fewer than 8: 0.453; of mean 4: 0.949.
        assert!((by_chance(8.0, 8) - 0.45296).abs() < 1e-4);
        assert!((by_chance(4.0, 8) - 0.94887).abs() < 1e-4);
        assert_eq!((evenly(8.0, 8), evenly(9.0, 8)), (1.0, 0.0));
        // Half of the sets hold 9 lines, 9 of 17 of all.
        assert!((evenly(8.5, 8) - 8.0 / 17.0).abs() < 1e-9);
        assert!(by_chance(600.0, 16) < 1e-9);
        assert!(by_chance(128.0 * 8.0, 8) < 1e-300);
        // A curve whose points are in no order asks for this: it would count to 1e300.
        assert_eq!(by_chance(1e300, 8), 0.0);
    }
}
