//! Levels of cache from a ladder: a random walk, one line an element, in growing working sets.

use alloc::vec::Vec;

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
/// TLB and the last few hits keep none of them level.
const SLOPE: f64 = 1.15;

/// What it rises by in an octave where it is not steep yet, or no more.
const GENTLE: f64 = 1.3;

/// What a step rises by in all.
const RISE: f64 = 1.3;

/// How far a latency may lie from another and be the same.
const SAME: f64 = 0.05;

/// A stretch of a ladder along which hardly anything changes.
struct Plateau {
    /// The median along it.
    median: f64,
    /// Its ends: a plateau rises a little, for the TLB's sake and others', and the levels beside it
    /// are to be held against the nearer one.
    first: f64,
    last: f64,
}

/// The plateaus of a ladder, from the nearest level to memory.
fn plateaus(points: &[(f64, f64)]) -> Vec<Plateau> {
    let costs: Vec<f64> = points.iter().map(|point| point.1).collect();
    if costs.is_empty() || costs.iter().any(|cost| *cost <= 0.0) {
        return Vec::new();
    }
    // A straight line between none and two octaves is close enough.
    let slope = |of_octave: f64, index: usize| {
        let ratio = points[index + 1].0 / points[index].0;
        1.0 + (of_octave - 1.0) * octaves(ratio)
    };
    let plateau = |range: &[f64]| {
        let mut sorted = range.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Plateau {
            median: median(&sorted)?,
            first: *range.first()?,
            last: *range.last()?,
        })
    };
    let mut plateaus = Vec::new();
    let mut from = 0;
    knees(
        &costs,
        |index| slope(SLOPE, index),
        RISE,
        |knee| {
            plateaus.extend(plateau(&costs[from..=knee.before]));
            from = knee.after;
            // The next plateau has begun where the curve is steep no more, though it may still rise.
            while from > knee.before + 1 && costs[from] < costs[from - 1] * slope(GENTLE, from - 1)
            {
                from -= 1;
            }
        },
    );
    plateaus.extend(plateau(&costs[from..]));
    plateaus
}

/// Octaves of a ratio up to a few, by halving: `log2` wants std.
fn octaves(ratio: f64) -> f64 {
    let (mut rest, mut octaves) = (ratio, 0.0);
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

/// Where half of the steps hit in a cache of physical addresses, as a share of its size, because
/// pages crowd some of its sets: 0.96 with 8 ways, 0.98 with 16.
const CROWDED: f64 = 0.97;

/// The size that the level at `index` from the nearest is built with: a power of two, or one and a
/// half or one and a quarter of one, for that is how caches come. A share of a larger cache comes in
/// any size. `None` if the ladder does not show the level's end.
///
/// Where the level ends within one rung, any size between two rungs explains it: a power of two is
/// then the answer, and no surer than the other sizes leave it.
pub fn size(ladder: &Curve, index: usize) -> Option<Found<f64>> {
    let found = decide(ladder, |points| end_of(points, index)?.likely())?;
    let middles: Vec<(f64, f64)> = ladder.iter().map(|(x, y)| (*x, y.middle())).collect();
    let as_good = end_of(&middles, index)?.candidates().count().max(1);
    Some(Found {
        confidence: found.confidence / as_good as f64,
        ..found
    })
}

/// Where a level ends.
enum End {
    /// Between two rungs: everything hits at the one, and nothing at the other.
    Sharp(f64, f64),
    /// Half of the steps hit at this working set.
    Soft(f64),
}

fn end_of(points: &[(f64, f64)], index: usize) -> Option<End> {
    let all = plateaus(points);
    let (near, far) = (all.get(index)?.last, all.get(index + 1)?.first);
    let hits = |time: f64| (far - time) / (far - near);
    let behind = points.iter().rposition(|(_, time)| hits(*time) > 0.5)? + 1;
    let ((lo, most), (hi, fewest)) = (points[behind - 1], *points.get(behind)?);
    let (most, fewest) = (hits(most), hits(fewest));
    if most > 0.95 && fewest < 0.05 {
        return Some(End::Sharp(lo, hi));
    }
    let share = (most - 0.5) / (most - fewest);
    Some(End::Soft(lo + (hi - lo) * share))
}

/// The shares of a power of two in which caches are built, the likeliest first.
const SHARES: [f64; 3] = [1.0, 1.5, 1.25];

impl End {
    /// The sizes that explain it equally well, the likeliest first.
    fn candidates(&self) -> impl Iterator<Item = f64> {
        let (lo, hi) = match self {
            End::Sharp(lo, hi) => (*lo, *hi),
            End::Soft(_) => (0.0, 0.0),
        };
        let sizes = SHARES.into_iter().map(move |share| {
            let mut size = 1024.0 * share;
            while size < lo {
                size *= 2.0;
            }
            size
        });
        sizes.filter(move |size| *size < hi)
    }

    /// The size that explains it best.
    fn likely(&self) -> Option<f64> {
        match self {
            End::Sharp(..) => self.candidates().next(),
            End::Soft(half) => {
                let wanted = half / CROWDED;
                let around = SHARES.into_iter().flat_map(|share| {
                    let mut size = 1024.0 * share;
                    while size * 2.0 < wanted {
                        size *= 2.0;
                    }
                    [size, size * 2.0]
                });
                let far = |size: f64| (size / wanted).max(wanted / size);
                around.min_by(|a, b| far(*a).total_cmp(&far(*b)))
            }
        }
    }
}
