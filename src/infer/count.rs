//! Numbers of resources, from a curve over the number in use: entries, buffers, bytes of a line.

use super::{Curve, Found, decide, decide_range};
use crate::stats::{Interval, crossing, median_of};

/// The factor by which the cost must rise to show an end.
const STEP: f64 = 1.3;

/// The least rise from one number to the next that shows the end of a row of buffers.
const FULL: f64 = 1.5;

/// Returns the largest number before the steepest rise: for example write-combining buffers, from stores to
/// as many lines cyclically. A curve may rise less steeply before: a core that fills each line more slowly
/// with more lines has not run out of buffers. Returns `None` if the curve does not rise by half or more from
/// one number to the next.
pub fn last_before_rise(curve: &Curve) -> Option<Found<u32>> {
    decide(curve, |points| Some(steepest::<2>(points, FULL)?[0].0 as u32))
}

/// Returns the `N` neighbours over which the cost rises most steeply, if it rises by more than this factor.
fn steepest<const N: usize>(points: &[(f64, f64)], least: f64) -> Option<[(f64, f64); N]> {
    let steps = points.windows(N).filter(|step| step[0].1 > 0.0);
    let rise = |step: &[(f64, f64)]| step[N - 1].1 / step[0].1;
    let steepest = steps.max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
    (rise(steepest) > least).then(|| *steepest.first_chunk().expect("N points"))
}

/// Returns the range from `held`, which was held, to one below `left`, which was not.
fn range(held: f64, left: f64) -> [u32; 2] {
    [held as u32, (left as u32).saturating_sub(1)]
}

/// Returns the number of entries of a TLB, from the time per step over the number of pages from `few` to
/// `many`. The lower bound is the largest number of pages that certainly costs less than the geometric
/// mean of both ends; the upper bound lies below the number that certainly costs more. Returns `None` if
/// the curve does not cover both ends, or does not certainly rise by 30 %.
pub fn entries(curve: &Curve, few: f64, many: f64) -> Option<Interval> {
    let first = curve.iter().position(|(pages, _)| *pages >= few)?;
    let end = curve.iter().rposition(|(pages, _)| *pages <= many)? + 1;
    let within = curve.get(first..end)?;
    let (before, behind) = (within.first()?.1, within.last()?.1);
    if before.lo <= 0.0 || behind.lo < STEP * before.hi {
        return None;
    }
    let mean = Interval::new(before.middle(), behind.middle()).center();
    let found = crossing(within, mean)?;
    Some(Interval::new(found.lo, (found.hi - 1.0).max(found.lo)))
}

/// The largest factor by which a step may be slower than the best step and count as equally fast.
const REACHED: f64 = 1.05;

/// Returns the number of misses in flight at once, from the time per step over the number of parallel
/// walks: the smallest number of walks whose step takes at most 5 % longer than the shortest step. The
/// lower bound is one more than the number of walks that certainly takes longer; the upper bound is the
/// first number that certainly does not. Returns `None` with fewer than three numbers of walks, or if a
/// time is not positive.
pub fn in_parallel(times: &Curve) -> Option<Interval> {
    let best = times.iter().map(|time| time.1).reduce(Interval::least);
    let best = best.filter(|best| best.lo > 0.0 && times.len() > 2)?.scaled(REACHED);
    let last = times.len() - 1;
    let possible = times.iter().position(|time| time.1.lo <= best.hi);
    let certain = times.iter().position(|time| time.1.hi <= best.lo);
    let before = match possible.unwrap_or(last) {
        0 => 0.0,
        index => times[index - 1].0,
    };
    Some(Interval::new(before + 1.0, times[certain.unwrap_or(last)].0))
}

/// The least rise of the time per round where the last two rounds stop overlapping. Without the stores
/// themselves the time would double.
const ALONE: f64 = 1.4;

/// Returns the number of stores that a core can hold before they leave, from the time per round over its
/// number of stores. Rounds overlap as long as the core has room for the stores between them. The
/// steepest rise is where two overlapping rounds become one: at least as many stores as before the rise,
/// and fewer than after it. Returns `None` if the time does not rise by two fifths from one number to
/// the next.
pub fn last_abreast(times: &Curve) -> Option<Found<[u32; 2]>> {
    decide_range(times, |points| {
        let [before, behind] = steepest(points, ALONE)?;
        Some(range(before.0, behind.0))
    })
}

/// Returns the number of instructions of a kind that fit between two chains, from the time per round
/// over their number. Two chains overlap as long as the core has room for the instructions between them.
/// The result is at least the number before, and less than the number after, the crossing of the middle
/// of the largest rise over three consecutive numbers. Returns `None` if no such rise reaches two
/// fifths.
pub fn window(times: &Curve) -> Option<Found<[u32; 2]>> {
    decide_range(times, |points| {
        let [before, between, behind] = steepest(points, ALONE)?;
        // Squares of both sides: a square root needs std.
        let risen = between.1 * between.1 >= before.1 * behind.1;
        Some(if risen { range(before.0, between.0) } else { range(between.0, behind.0) })
    })
}

/// The factor by which a forgotten item costs more.
const FORGOTTEN: f64 = 1.15;

/// Returns how many items are remembered, from the cost of each over their number: up to the last number
/// before the costs exceed the median of all smaller numbers by 15 % and stay above. A single expensive number
/// is not the end. Returns `None` if no number costs more.
pub fn remembered(costs: &Curve) -> Option<Found<[u32; 2]>> {
    decide_range(costs, |points| {
        let forgotten = |&first: &usize| {
            let before = points[..first].iter().map(|(_, cost)| *cost);
            let usual = median_of(before).unwrap_or(f64::INFINITY);
            let mut from_there = points[first..].iter();
            from_there.all(|(_, cost)| *cost > FORGOTTEN * usual)
        };
        let first = (1..points.len()).find(forgotten)?;
        Some(range(points[first - 1].0, points[first].0))
    })
}

/// Returns the smallest number of users whose total bandwidth is at least `share` of the highest: the
/// number of cores that saturate memory, from the total bandwidth over the number of cores, in ascending
/// order. Between two numbers, no user adds more than the highest bandwidth per user, and the curve lies
/// above the straight line between the points: users may come group by group, each with a limit of its
/// own. Returns `None` with fewer than two numbers, or if a bandwidth is not positive.
pub fn saturation(totals: &Curve, share: f64) -> Option<Interval> {
    let positive = totals.iter().all(|(users, total)| *users > 0.0 && total.lo > 0.0);
    let highest = totals.iter().map(|point| point.1).reduce(Interval::most)?;
    if !positive || totals.len() < 2 {
        return None;
    }
    let level = highest.scaled(share);
    let each = totals.iter().map(|(users, total)| total.hi / users).fold(0.0, f64::max);
    // Rounding of a quotient must not add a user.
    let whole = |users: f64| {
        let fewer = users as u64 as f64;
        if users - fewer > 1e-9 * users { fewer + 1.0 } else { fewer }
    };
    let least = match totals.iter().position(|(_, total)| total.hi >= level.lo)? {
        0 => totals[0].0,
        index => {
            let (users, total) = totals[index - 1];
            (users + (level.lo - total.hi) / each).min(totals[index].0)
        }
    };
    let most = match totals.iter().position(|(_, total)| total.lo >= level.hi) {
        Some(0) => totals[0].0,
        Some(index) => {
            let [(few, lower), (many, upper)] = [totals[index - 1], totals[index]];
            few + (many - few) * (level.hi - lower.lo) / (upper.lo - lower.lo)
        }
        None => totals[totals.len() - 1].0,
    };
    Some(Interval::new(whole(least), whole(most)))
}

/// The least factor by which a load that crosses into the next line costs more: on all known cores it
/// takes one or more core cycles longer.
const CROSSING: f64 = 1.1;

/// Returns the bytes of a line, from the times of loads of `bytes` bytes at offsets from the start of a
/// line: the power of two that the last cheap load stays inside and the first expensive load crosses.
/// Returns `None` if no load costs more, or if no power of two fits.
pub fn line(times: &Curve, bytes: f64) -> Option<Found<u32>> {
    decide(times, |points| {
        let first = points.first()?.1;
        let dearer = points.iter().position(|(_, time)| *time > first * CROSSING)?;
        let inside = points.get(dearer.checked_sub(1)?)?.0 + bytes;
        let outside = points[dearer].0 + bytes;
        let fits = |line: &u32| inside <= f64::from(*line) && f64::from(*line) < outside;
        (3..=12).map(|bits| 1 << bits).find(fits)
    })
}
