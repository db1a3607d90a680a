//! The ranges of working sets that each cache level and memory hold, from a measured ladder.
//!
//! CPUID may report a last-level cache of which this guest gets only a slice. Measured sizes therefore
//! come first, and CPUID is the guess they are compared with.

use crate::prelude::*;
use crate::stats::{Interval, knees};

/// A rung of the ladder: a random walk, one line per element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// Working set in bytes.
    pub working_set: f64,
    /// Core cycles per step (ticks, without a yardstick).
    pub cost: Interval,
}

/// A closed range of working sets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest working set.
    pub lo: f64,
    /// The largest working set.
    pub hi: f64,
}

impl Range {
    /// Returns the range of a single working set.
    pub const fn at(x: f64) -> Self {
        Range { lo: x, hi: x }
    }

    /// Whether `x` lies inside.
    pub fn holds(&self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }
}

impl core::fmt::Display for Range {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let kib = |bytes: f64| bytes / 1024.0;
        if self.hi < self.lo {
            // No working set lies clearly inside a level that is less than four times as large as the
            // level before.
            let (least, most) = (kib(self.lo), kib(self.hi));
            write!(f, "empty range (it would begin at {least:.0} KiB and end at {most:.0} KiB)")
        } else if self.hi.is_finite() {
            write!(f, "range {:.0} to {:.0} KiB", kib(self.lo), kib(self.hi))
        } else {
            write!(f, "range from {:.0} KiB", kib(self.lo))
        }
    }
}

/// The factor to which the size of a level is measured.
const ACCURACY: f64 = 1.5;

/// The capacity of a cache level: as CPUID reports it, and as the ladder shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Cache level, 1 to 3.
    pub level: u8,
    /// Bytes according to CPUID.
    pub reported: Option<f64>,
    /// Measured bytes: where the cost crosses the geometric mean of the plateaus on both sides of the
    /// step. Accurate to a factor of 1.5.
    pub measured: Option<f64>,
}

impl Capacity {
    /// Returns the bytes that a working set can count on.
    pub fn usable(&self) -> f64 {
        match (self.reported, self.measured) {
            (Some(reported), Some(measured)) => reported.min(measured),
            (Some(bytes), None) | (None, Some(bytes)) => bytes,
            (None, None) => 0.0,
        }
    }

    /// Returns the bytes of the whole level, which a working set of the next level has to outgrow: what CPUID
    /// reports if the ladder clearly shows less, because a hyper-thread or another guest takes a part of the
    /// level at times.
    pub fn whole(&self) -> f64 {
        match (self.reported, self.measured) {
            (Some(reported), Some(measured)) if ACCURACY * measured < reported => reported,
            _ => self.usable(),
        }
    }
}

/// The ranges of working sets over which the documents' checks are stated.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// The capacities from which the ranges derive, from L1d to the last level.
    pub capacities: Vec<Capacity>,
    /// 4 KiB to half of L1d.
    pub l1: Range,
    /// Twice the whole of L1d to half of L2.
    pub l2: Range,
    /// Twice the whole of L2 to half of the last level's share.
    pub llc: Range,
    /// Four times the last level's share and more.
    pub memory: Range,
}

/// Sizes assumed where neither CPUID nor the ladder shows a level: small enough for any x86-64 CPU.
const SMALLEST: [f64; 3] = [32.0 * 1024.0, 256.0 * 1024.0, 2.0 * 1024.0 * 1024.0];

impl Ranges {
    /// Derives the ranges from `ladder` (ascending working sets) and the sizes that CPUID reports
    /// for L1d, L2 and the last level.
    pub fn from_ladder(ladder: &[Rung], reported: [Option<f64>; 3]) -> Self {
        let mut steps = steps_of(ladder);
        let memory = in_memory(ladder);
        steps.retain(|step| step.before < memory);
        let places: Vec<f64> = steps.iter().map(|step| step.at).collect();
        let mut measured = assign(&places, reported);
        // A ladder that reaches memory has passed the end of the last level too, even if it lies in one step
        // with the end of L2, because a guest gets little more of the last level than L2 holds.
        if let (None, Some(size), Some(step)) = (measured[2], reported[2], steps.last())
            && let Some(end) = ladder.last()
            && (end.working_set >= 2.0 * size || end.cost.middle() >= memory)
        {
            measured[2] = Some(step.top);
        }
        let capacities: Vec<Capacity> = (0..3)
            .map(|index| Capacity {
                level: index as u8 + 1,
                reported: reported[index],
                measured: measured[index],
            })
            .collect();
        let size = |index: usize, of: fn(&Capacity) -> f64| match of(&capacities[index]) {
            0.0 => SMALLEST[index],
            bytes => bytes,
        };
        let usable = |index| size(index, Capacity::usable);
        let whole = |index| size(index, Capacity::whole);
        let (l1, l2) = (usable(0), usable(1));
        // Without a third level, memory begins after the second.
        let llc = usable(2).max(l2);
        Ranges {
            l1: Range { lo: 4096.0, hi: l1 / 2.0 },
            l2: Range { lo: 2.0 * whole(0), hi: l2 / 2.0 },
            llc: Range { lo: 2.0 * whole(1), hi: llc / 2.0 },
            memory: Range { lo: 4.0 * llc, hi: f64::INFINITY },
            capacities,
        }
    }
}

/// A step of a rising curve.
struct Step {
    /// Where the curve crosses the geometric mean of the plateaus on both sides.
    at: f64,
    /// Where the plateau before the step ends.
    from: f64,
    /// Where the plateau behind the step begins.
    top: f64,
    /// The cost on the plateau before the step.
    before: f64,
}

/// Returns the steps of the ladder.
fn steps_of(ladder: &[Rung]) -> Vec<Step> {
    let points: Vec<(f64, Interval)> =
        ladder.iter().map(|rung| (rung.working_set, rung.cost)).collect();
    found(&points)
}

/// The factor by which a curve rises per octave of working sets before it counts as leaving its plateau.
const PLATEAU: f64 = 1.15;

/// How many times as steep as a short shelf the rises on both sides of it are, at least.
const SHELF: f64 = 8.0;

/// Returns each x at which a rising curve steps up: where it crosses the geometric mean of the plateaus
/// on both sides of the step. Leaves out steps whose first plateau ends at an x of `end` or more. Ignores
/// points that are not positive, which are noise.
pub fn steps(points: &[(f64, Interval)], end: f64) -> Vec<f64> {
    let steps = found(points).into_iter();
    let begun = steps.filter(|step| step.from < end);
    begun.map(|step| step.at).collect()
}

fn found(points: &[(f64, Interval)]) -> Vec<Step> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .map(|(x, cost)| (*x, cost.middle()))
        .filter(|(x, cost)| *x > 0.0 && *cost > 0.0)
        .collect();
    let costs: Vec<f64> = points.iter().map(|(_, cost)| *cost).collect();
    let mut steps = Vec::new();
    let octaves = |index: usize| (points[index + 1].0 / points[index].0).log2();
    let steepness = |index: usize| (costs[index + 1] / costs[index]).ln() / octaves(index);
    // A level that holds little more than the level before has two rungs, and the rises on both sides
    // reach into them.
    let is_shelf = |index: usize| {
        let least = SHELF * steepness(index);
        index > 0
            && index + 2 < costs.len()
            && steepness(index) < PLATEAU.powi(2).ln()
            && [index - 1, index + 1]
                .map(steepness)
                .iter()
                .all(|side| *side > least && *side > PLATEAU.ln())
    };
    // A plateau is not level, because of the TLB, the rows of memory and the remaining cache hits.
    let slope = |index: usize| match is_shelf(index) {
        true => f64::INFINITY,
        false => PLATEAU.powf(octaves(index)),
    };
    knees(&costs, slope, 1.3, |knee| {
        let middle = (costs[knee.before] * costs[knee.after]).sqrt();
        let above =
            (knee.before..=knee.after).find(|&index| costs[index] >= middle).unwrap_or(knee.after);
        let below = above.saturating_sub(1);
        let share = (middle / costs[below]).ln() / (costs[above] / costs[below]).ln();
        let (from, to) = (points[below].0, points[above].0);
        steps.push(Step {
            at: from * (to / from).powf(share.clamp(0.0, 1.0)),
            from: points[knee.before].0,
            top: points[knee.after].0,
            before: costs[knee.before],
        });
    });
    steps
}

/// Returns the cost of a step from which on the steps of a ladder come from memory: 50 times that of a step in
/// L1d. The last level takes 10 to 30 times as long as L1d, memory 50 to 120 times. A curve that rises farther on
/// shows page walks: on a guest by 80 %, from 64 MiB to 2 GiB.
fn in_memory(ladder: &[Rung]) -> f64 {
    let first = ladder.first().map_or(f64::INFINITY, |rung| rung.cost.middle());
    50.0 * first
}

/// Whether the ladder has reached memory and its last four rungs are flat. Larger working sets then lie in memory
/// too. Memory is reached by its cost, or by as many steps as there are cache `levels`: on a crowded host the last
/// level may have no plateau, so that the steps on both sides of it are one.
pub(crate) fn flat_in_memory(ladder: &[Rung], levels: usize) -> bool {
    let [.., first, _, _, last] = ladder else { return false };
    let octaves = (last.working_set / first.working_set).log2();
    let flat = last.cost.middle() < first.cost.middle() * PLATEAU.powf(octaves);
    flat && (last.cost.middle() >= in_memory(ladder) || steps_of(ladder).len() >= levels)
}

/// Assigns each level the step nearest to its reported size: at most twice that size, and for L1d and L2 at
/// least a 64th of it. The last level has no least size, because a guest may get a slice of any size: of
/// 300 MiB, 5 MiB were seen. Uses every step at most once and in order. Levels after the last reported level
/// get the remaining steps in order.
fn assign(steps: &[f64], reported: [Option<f64>; 3]) -> [Option<f64>; 3] {
    let mut measured = [None; 3];
    let mut free = steps;
    for (level, slot) in measured.iter_mut().enumerate() {
        let best = match reported[level] {
            Some(size) => {
                let least = if level == 2 { 0.0 } else { size / 64.0 };
                nearest(free, size, least)
            }
            None if reported[level..] == [None; 3][level..] => (!free.is_empty()).then_some(0),
            None => None,
        };
        if let Some(index) = best {
            *slot = Some(free[index]);
            free = &free[index + 1..];
        }
    }
    measured
}

/// Returns the index of the step nearest to `size`, of those from `least` to twice `size`.
fn nearest(steps: &[f64], size: f64, least: f64) -> Option<usize> {
    let distance = |step: f64| (step / size).ln().abs();
    steps
        .iter()
        .enumerate()
        .filter(|(_, step)| (least..=size * 2.0).contains(*step))
        .min_by(|a, b| distance(*a.1).total_cmp(&distance(*b.1)))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests;
