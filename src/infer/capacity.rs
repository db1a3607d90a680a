//! Cache levels from a ladder, which is a random walk, one line per element, in growing working sets;
//! and the size of a level, from the shape of the rise at its end.

use alloc::vec::Vec;
use core::iter::successors;
use core::ops::Range;

use super::{Curve, Found, decide, drawn, middles};
use crate::stats::{Interval, crossing, knees, median_of};

/// A level of the hierarchy as a ladder shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Time of a step that hits this level. The confidence is the share of drawn ladders that agree
    /// within 5 %.
    pub latency: Found<f64>,
    /// Working sets, in bytes: at the lower end most steps certainly hit this level, and at the upper
    /// end most certainly miss. `None` for memory, which has no end.
    pub ends: Option<Interval>,
}

/// The factor by which a ladder rises per octave of working sets before it counts as leaving a plateau.
/// No plateau is level, because of the TLB and the remaining hits, and neither is a level that is hardly
/// larger than the level before.
const SLOPE: f64 = 1.3;

/// The least factor of a whole step; from one level to the next it is two or more.
const RISE: f64 = 1.5;

/// The relative difference up to which two latencies count as the same.
const SAME: f64 = 0.05;

/// A part of a ladder along which the time hardly changes.
pub(super) struct Plateau {
    /// The points of the plateau.
    pub(super) points: Range<usize>,
    /// The median time along the plateau.
    pub(super) median: f64,
    /// The times at both ends. A plateau rises slightly, because of the TLB among others, and the levels
    /// beside it are compared with the nearer end.
    pub(super) first: f64,
    pub(super) last: f64,
}

/// Returns the plateaus of a ladder, from the nearest level to memory.
pub(super) fn plateaus(points: &[(f64, f64)]) -> Vec<Plateau> {
    let costs: Vec<f64> = points.iter().map(|point| point.1).collect();
    if costs.is_empty() || costs.iter().any(|cost| *cost <= 0.0) {
        return Vec::new();
    }
    // A straight line between zero and two octaves is accurate enough.
    let slope = |index: usize| {
        let ratio = points[index + 1].0 / points[index].0;
        1.0 + (SLOPE - 1.0) * octaves(ratio)
    };
    let plateau = |points: Range<usize>| {
        let range = &costs[points.clone()];
        let median = median_of(range.iter().copied())?;
        Some(Plateau { points, median, first: *range.first()?, last: *range.last()? })
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

/// Returns the points of a rise between which it is far less steep than before and after them, if there
/// are any. A level that is hardly larger than the level before has such a shelf instead of a plateau.
fn shelf(costs: &[f64]) -> Option<Range<usize>> {
    let rise = |index: usize| costs[index + 1] / costs[index];
    let pairs = costs.len() - 1;
    // For each pair, the steepest pair before it, and the steepest pair after it.
    let steepest = |steepest: &mut f64, index: usize| {
        let before = *steepest;
        *steepest = steepest.max(rise(index));
        Some(before)
    };
    let before: Vec<f64> = (0..pairs).scan(0.0, steepest).collect();
    let behind: Vec<f64> = (0..pairs).rev().scan(0.0, steepest).collect();
    // At most half as steep, on a logarithmic scale.
    let gentle = |index: usize| {
        let beside = before[index].min(behind[pairs - 1 - index]);
        rise(index) * rise(index) < beside
    };
    let least = (0..pairs).filter(|&index| gentle(index));
    let least = least.min_by(|&a, &b| rise(a).total_cmp(&rise(b)))?;
    let start = (0..=least).rev().take_while(|&index| gentle(index)).last()?;
    let end = (least..pairs).take_while(|&index| gentle(index)).last()? + 1;
    let steps = costs[start] / costs[0] >= RISE && costs[pairs] / costs[end] >= RISE;
    steps.then_some(start..end + 1)
}

/// Returns the octaves of a ratio, at most 64, by halving: `log2` needs std.
fn octaves(ratio: f64) -> f64 {
    const MOST: f64 = (1_u128 << 64) as f64;
    let (mut rest, mut octaves) = (ratio.min(MOST), 0.0);
    while rest >= 2.0 {
        rest /= 2.0;
        octaves += 1.0;
    }
    octaves + (rest - 1.0)
}

/// Returns the levels that a ladder shows, ending with memory. Empty if a value is not positive.
pub fn levels(ladder: &Curve) -> Vec<Level> {
    let all = plateaus(&middles(ladder));
    let mut levels = Vec::new();
    for (index, Plateau { median, last, .. }) in all.iter().enumerate() {
        let latency = *median;
        let near = decide(ladder, |points| {
            let drawn = plateaus(points);
            let near = |drawn: &Plateau| (drawn.median / latency - 1.0).abs() < SAME;
            (drawn.len() == all.len() && near(&drawn[index])).then_some(())
        });
        // Half of the steps hit where the time is halfway to the next level's time.
        let ends = all.get(index + 1).and_then(|next| crossing(ladder, (last + next.first) / 2.0));
        levels.push(Level {
            latency: Found { value: latency, confidence: near.map_or(0.0, |near| near.confidence) },
            ends,
        });
    }
    levels
}

/// Returns the built size of the level at `index`, counted from the nearest: a power of two, or 1.5 or
/// 1.25 times a power of two, as caches are built. (A share of a larger cache may have any size.)
/// Returns `None` if the ladder does not show the level's end.
///
/// The result is the size that best explains the rise to the next level, where sets are chosen either by
/// addresses or, in pages that lie anywhere, by chance. A size that is not a power of two needs half the
/// error of a power of two to be chosen. Several sizes that end between the same two rungs explain the
/// rise equally well and share the confidence.
pub fn size(ladder: &Curve, index: usize) -> Option<Found<f64>> {
    let likely = |points: &[(f64, f64)]| best(&fits(points, index)).map(|best| best.bytes);
    let found = decide(ladder, likely)?;
    let fits = fits(&middles(ladder), index);
    let best = fits.iter().map(|fit| fit.off).fold(f64::INFINITY, f64::min);
    let as_good = fits.iter().filter(|fit| fit.off <= ALIKE * best);
    Some(Found { confidence: found.confidence / as_good.count().max(1) as f64, ..found })
}

/// Returns the size that best explains two ladders over the same level that give different sizes
/// separately. The errors of both ladders are added, and an unusual size is penalised in both. Returns
/// `None` if no size lies near the ends that both show.
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

/// Returns the possible sizes in ascending order, for levels where [`size`] is not sure: for each of the curves
/// drawn within the intervals, the size that [`size`] would take, and all sizes that explain the curve as well.
/// Empty if no drawn curve shows the level's end.
pub fn sizes(ladder: &Curve, index: usize) -> Vec<f64> {
    let mut sizes = Vec::new();
    for points in drawn(ladder) {
        let fits = fits(&points, index);
        let taken = best(&fits).map(|best| best.off);
        let as_good = |fit: &&Fit| taken.is_some_and(|taken| fit.off <= ALIKE * taken);
        sizes.extend(fits.iter().filter(as_good).map(|fit| fit.bytes));
    }
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup();
    sizes
}

fn best(fits: &[Fit]) -> Option<&Fit> {
    fits.iter().min_by(|a, b| a.doubt.total_cmp(&b.doubt))
}

/// The error of a size as an explanation of a ladder.
struct Fit {
    bytes: f64,
    /// The mean square of the relative error.
    off: f64,
    /// The mean square of the relative error, increased for an unusual size.
    doubt: f64,
}

/// A multiple of a power of two in which caches are built.
struct Share {
    of_power: f64,
    /// Factor on the mean squares of this multiple: the TLB, neighbours and chance change a ladder more
    /// than the difference to the nearest power of two does.
    weight: f64,
    /// Ways of such caches: their number of sets is a power of two, so their number of ways is not.
    /// Caches with other ways are explained by one of these two.
    ways: [u32; 2],
}

const SHARES: [Share; 3] = [
    Share { of_power: 1.0, weight: 1.0, ways: [8, 16] },
    Share { of_power: 1.5, weight: 4.0, ways: [12, 24] },
    Share { of_power: 1.25, weight: 4.0, ways: [10, 20] },
];

/// The largest factor between a size and the working set in which half of the steps hit.
const NEARBY: f64 = 1.6;

/// Sizes whose mean squares exceed the best by at most this factor explain a ladder equally well. Meant
/// for sizes whose predictions are identical.
const ALIKE: f64 = 1.01;

/// Returns all sizes nearby, each with its smallest error on these points.
fn fits(points: &[(f64, f64)], index: usize) -> Vec<Fit> {
    let all = plateaus(points);
    let (Some(near), Some(far)) = (all.get(index), all.get(index + 1)) else { return Vec::new() };
    let Some((half, rise)) = rise(points, near, far) else { return Vec::new() };
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
            Some(Fit { bytes, off, doubt: off * share.weight })
        })
        .collect()
}

/// Returns the approximate working set in which half of the steps hit, and the points around it that
/// depend only on these two levels.
fn rise(points: &[(f64, f64)], near: &Plateau, far: &Plateau) -> Option<(f64, Range<usize>)> {
    let middle = (near.last + far.first) / 2.0;
    let around = near.points.start..far.points.end;
    let after = points[around.clone()].iter().position(|(_, time)| *time > middle)?;
    let half = points[around.start + after].0;
    let within = |(at, _): &(f64, f64)| (half / 4.0..=half * 3.0).contains(at);
    let first = around.start + points[around.clone()].iter().position(within)?;
    let last = around.start + points[around].iter().rposition(within)?;
    Some((half, first..last + 1))
}

/// Returns the smallest mean square error of a cache of `bytes` bytes.
fn off_by(points: &[(f64, f64)], near: f64, bytes: f64, ways: [u32; 2]) -> Option<f64> {
    let shapes = ways.into_iter().flat_map(|ways| {
        let full = move |at: f64| f64::from(ways) * at / bytes;
        let even: Vec<f64> = points.iter().map(|(at, _)| evenly(full(*at), ways)).collect();
        let chance: Vec<f64> = points.iter().map(|(at, _)| by_chance(full(*at), ways)).collect();
        [even, chance]
    });
    let off = shapes.filter_map(|hits| off_with(points, near, &hits));
    off.reduce(f64::min)
}

/// Returns the mean square error of the points if these shares of steps hit, with the latency of the
/// next level that minimises it. Returns `None` if that latency is no slower than this level's.
fn off_with(points: &[(f64, f64)], near: f64, hits: &[f64]) -> Option<f64> {
    // Least squares of `misses * far = time - hits * near`, with both sides divided by the time.
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

/// Returns the share of steps that hit if every set has to hold `filling` lines, or the whole numbers
/// around it. In a set that has to hold more lines than it has ways, no line survives until its next
/// use.
fn evenly(filling: f64, ways: u32) -> f64 {
    let fewer = f64::from(filling as u32);
    let in_fuller_sets = (filling - fewer) * (fewer + 1.0) / filling;
    let fits = |lines: f64| f64::from(u8::from(lines <= f64::from(ways)));
    (1.0 - in_fuller_sets) * fits(fewer) + in_fuller_sets * fits(fewer + 1.0)
}

/// Returns the share of steps that hit if chance chooses the sets. A line hits if it has fewer
/// companions in its set than there are ways; the number of companions has a Poisson distribution of
/// mean `filling`.
fn by_chance(filling: f64, ways: u32) -> f64 {
    // The sum has about as many terms as the mean, and here it is 0 in double precision.
    if filling > 128.0 * f64::from(ways) {
        return 0.0;
    }
    // Each term is divided by the first, whose exponential needs std, and which cancels in the share.
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
        // Poisson distribution of mean 8, fewer than 8: 0.453; of mean 4: 0.949.
        assert!((by_chance(8.0, 8) - 0.45296).abs() < 1e-4);
        assert!((by_chance(4.0, 8) - 0.94887).abs() < 1e-4);
        assert_eq!((evenly(8.0, 8), evenly(9.0, 8)), (1.0, 0.0));
        // Half of the sets hold 9 lines, which are 9 of 17 lines.
        assert!((evenly(8.5, 8) - 8.0 / 17.0).abs() < 1e-9);
        assert!(by_chance(600.0, 16) < 1e-9);
        assert!(by_chance(128.0 * 8.0, 8) < 1e-300);
        // A curve with unordered points asks for this, which would count to 1e300.
        assert_eq!(by_chance(1e300, 8), 0.0);
    }
}
