//! How many of something there are, from a curve over how many are used: entries, buffers, bytes of a line.

use super::{Curve, Found, decide};
use crate::stats::{Interval, crossing};

/// What something must cost more for an end to show.
const STEP: f64 = 1.3;

/// The largest number up to which a curve is flat, which rises there by half or more and all at
/// once: write-combining buffers, from stores to as many lines in turn. `None` if it does not rise.
pub fn last_before_rise(curve: &Curve) -> Option<Found<u32>> {
    decide(curve, |points| {
        let first = points.first()?.1;
        let risen = points.iter().position(|(_, value)| *value > 1.5 * first)?;
        let (last, _) = points.get(risen.checked_sub(1)?)?;
        Some(*last as u32)
    })
}

/// How many entries a TLB has, from the time of a step over the number of pages from `few` to
/// `many`: at least as many as surely cost less than the geometric mean of the two ends, and fewer
/// than surely cost more. `None` if the curve does not reach over both, or rises by less than a
/// third.
pub fn entries(curve: &Curve, few: f64, many: f64) -> Option<Interval> {
    let first = curve.iter().position(|(pages, _)| *pages >= few)?;
    let end = curve.iter().rposition(|(pages, _)| *pages <= many)? + 1;
    let within = curve.get(first..end)?;
    let (before, behind) = (within.first()?.1, within.last()?.1);
    if before.lo <= 0.0 || behind.lo < STEP * before.hi {
        return None;
    }
    // The mean by bisection: no square root without std.
    let product = before.middle() * behind.middle();
    let (mut lo, mut hi) = (before.middle(), behind.middle());
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        if middle * middle < product {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    let found = crossing(within, lo)?;
    Some(Interval::new(found.lo, (found.hi - 1.0).max(found.lo)))
}

/// By how much a number of walks may be slower a step than the best and still have reached it.
const REACHED: f64 = 1.05;

/// How many misses are on their way at once, from the time of a step over the number of walks side
/// by side: the fewest walks whose step takes no longer than the shortest by more than 5 %. More
/// than certainly take longer, and at most as many as certainly do not. `None` without three
/// numbers of walks, or if a time is not positive.
pub fn in_parallel(times: &Curve) -> Option<Interval> {
    let best = times.iter().map(|time| time.1).reduce(Interval::least);
    let best = best.filter(|best| best.lo > 0.0 && times.len() > 2)?;
    let best = best.scaled(REACHED);
    let last = times.len() - 1;
    let possible = times.iter().position(|time| time.1.lo <= best.hi);
    let certain = times.iter().position(|time| time.1.hi <= best.lo);
    let before = match possible.unwrap_or(last) {
        0 => 0.0,
        index => times[index - 1].0,
    };
    Some(Interval::new(
        before + 1.0,
        times[certain.unwrap_or(last)].0,
    ))
}

/// What a round takes longer where the last two of them no longer run side by side: twice as long
/// but for the stores themselves.
const ALONE: f64 = 1.4;

/// How many stores a core holds that cannot leave yet: from the time of a round over its number of
/// stores, where rounds run side by side as long as the stores between them find room. The steepest
/// rise is that from two rounds at a time to one; at least as many as lie before it, and fewer than
/// lie behind. `None` if nothing rises by two fifths from one number to the next.
pub fn last_abreast(times: &Curve) -> Option<Found<[u32; 2]>> {
    decide(times, |points| {
        let steps = points.windows(2).filter(|pair| pair[0].1 > 0.0);
        let rise = |pair: &[(f64, f64)]| pair[1].1 / pair[0].1;
        let steepest = steps.max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
        let [before, behind] = [steepest[0].0, steepest[1].0];
        (rise(steepest) > ALONE).then_some([before as u32, (behind as u32).saturating_sub(1)])
    })
}

/// How many instructions of a kind find room between two chains: from the time of a round over their
/// number, where two chains run side by side as long as what stands between them finds room. At least as
/// many as lie before the crossing of the middle of the largest rise over three numbers in a row, and
/// fewer than lie behind. `None` if nothing rises by two fifths so.
pub fn window(times: &Curve) -> Option<Found<[u32; 2]>> {
    decide(times, |points| {
        let steps = points.windows(3).filter(|three| three[0].1 > 0.0);
        let rise = |three: &[(f64, f64)]| three[2].1 / three[0].1;
        let steepest = steps.max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
        let [before, between, behind] = [steepest[0], steepest[1], steepest[2]];
        // Squares of both sides: no square root without std.
        let risen = between.1 * between.1 >= before.1 * behind.1;
        let [held, left] = match risen {
            true => [before.0, between.0],
            false => [between.0, behind.0],
        };
        (rise(steepest) > ALONE).then_some([held as u32, (left as u32).saturating_sub(1)])
    })
}

/// What something that is forgotten costs more, as a factor.
const FORGOTTEN: f64 = 1.15;

/// How many of something are remembered, from the cost of each over their number: as many as cost no
/// more than the cheapest before them by 15 %, and fewer than the next. `None` if none costs more.
pub fn remembered(costs: &Curve) -> Option<Found<[u32; 2]>> {
    decide(costs, |points| {
        let mut least = f64::INFINITY;
        let mut dearer = points.iter().map(|(_, cost)| {
            let forgotten = *cost > FORGOTTEN * least;
            least = least.min(*cost);
            forgotten
        });
        let first = dearer.position(|forgotten| forgotten)?;
        let [held, left] = [points[first.checked_sub(1)?].0, points[first].0];
        Some([held as u32, (left as u32).saturating_sub(1)])
    })
}

/// The fewest users whose bandwidth together is at least `share` of the highest: how many cores saturate
/// memory, from the bandwidth of all over the number of cores, which starts with the smallest. Between
/// two numbers the curve is taken to bend down only: it lies above the straight line from point to
/// point, and below the line from zero through the point before. `None` without two numbers, or if a
/// bandwidth is not positive.
pub fn saturation(totals: &Curve, share: f64) -> Option<Interval> {
    let positive = totals
        .iter()
        .all(|(users, total)| *users > 0.0 && total.lo > 0.0);
    let highest = totals.iter().map(|point| point.1).reduce(Interval::most)?;
    if !positive || totals.len() < 2 {
        return None;
    }
    let level = highest.scaled(share);
    // What the rounding of a quotient adds is no user.
    let whole = |users: f64| {
        let fewer = users as u64 as f64;
        let more = users - fewer > 1e-9 * users;
        fewer + f64::from(u8::from(more))
    };
    let first_at = |level: f64, end: fn(Interval) -> f64| {
        let mut ends = totals.iter().map(|(_, total)| end(*total));
        ends.position(|end| end >= level)
    };
    let early: fn(Interval) -> f64 = |of| of.hi;
    let late: fn(Interval) -> f64 = |of| of.lo;
    let least = match first_at(level.lo, early)? {
        0 => totals[0].0,
        index => {
            let (users, total) = totals[index - 1];
            (users * level.lo / total.hi).min(totals[index].0)
        }
    };
    let most = match first_at(level.hi, late) {
        Some(0) => totals[0].0,
        Some(index) => {
            let [(few, lower), (many, upper)] = [totals[index - 1], totals[index]];
            few + (many - few) * (level.hi - lower.lo) / (upper.lo - lower.lo)
        }
        None => totals[totals.len() - 1].0,
    };
    Some(Interval::new(whole(least), whole(most)))
}

/// What a load that crosses into the next line costs more, at least: all that is known take a core
/// cycle more or several.
const CROSSING: f64 = 1.1;

/// Bytes of a line, from the times of loads of `bytes` at offsets from the start of one: the power
/// of two into which the last load fits that costs nothing, and out of which the first leads that
/// does. `None` if no load costs more, or no power of two fits.
pub fn line(times: &Curve, bytes: f64) -> Option<Found<u32>> {
    decide(times, |points| {
        let first = points.first()?.1;
        let dearer = points
            .iter()
            .position(|(_, time)| *time > first * CROSSING)?;
        let inside = points.get(dearer.checked_sub(1)?)?.0 + bytes;
        let outside = points[dearer].0 + bytes;
        let fits = |line: &u32| inside <= f64::from(*line) && f64::from(*line) < outside;
        (3..=12).map(|bits| 1 << bits).find(fits)
    })
}
