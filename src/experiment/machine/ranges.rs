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
            write!(
                f,
                "empty range (at least {least:.0} KiB, at most {most:.0} KiB)"
            )
        } else if self.hi.is_finite() {
            write!(f, "range {:.0} to {:.0} KiB", kib(self.lo), kib(self.hi))
        } else {
            write!(f, "range from {:.0} KiB", kib(self.lo))
        }
    }
}

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
}

/// The ranges of working sets over which the documents' checks are stated.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// The capacities from which the ranges derive, from L1d to the last level.
    pub capacities: Vec<Capacity>,
    /// 4 KiB to half of L1d.
    pub l1: Range,
    /// Twice L1d to half of L2.
    pub l2: Range,
    /// Twice L2 to half of the last level's share.
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
        let usable = |index: usize| match capacities[index].usable() {
            0.0 => SMALLEST[index],
            bytes => bytes,
        };
        let (l1, l2) = (usable(0), usable(1));
        // Without a third level, memory begins after the second.
        let llc = usable(2).max(l2);
        Ranges {
            l1: Range {
                lo: 4096.0,
                hi: l1 / 2.0,
            },
            l2: Range {
                lo: 2.0 * l1,
                hi: l2 / 2.0,
            },
            llc: Range {
                lo: 2.0 * l2,
                hi: llc / 2.0,
            },
            memory: Range {
                lo: 4.0 * llc,
                hi: f64::INFINITY,
            },
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
    let points: Vec<(f64, Interval)> = ladder
        .iter()
        .map(|rung| (rung.working_set, rung.cost))
        .collect();
    found(&points)
}

/// The factor by which a curve rises per octave of working sets before it counts as leaving its plateau.
const PLATEAU: f64 = 1.15;

/// How many times as steep as a short shelf the rises on both sides of it are, at least.
const SHELF: f64 = 8.0;

/// Returns each x at which a rising curve steps up: where it crosses the geometric mean of the plateaus
/// on both sides of the step. Ignores points that are not positive, which are noise.
pub fn steps(points: &[(f64, Interval)]) -> Vec<f64> {
    steps_before(points, f64::INFINITY)
}

/// Returns the same steps without those that begin at `end` or beyond.
pub(crate) fn steps_before(points: &[(f64, Interval)], end: f64) -> Vec<f64> {
    let steps = found(points).into_iter();
    let begin = steps.filter(|step| step.from < end);
    begin.map(|step| step.at).collect()
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
        let above = (knee.before..=knee.after)
            .find(|&index| costs[index] >= middle)
            .unwrap_or(knee.after);
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
    let first = ladder
        .first()
        .map_or(f64::INFINITY, |rung| rung.cost.middle());
    50.0 * first
}

/// Whether the ladder has reached memory and its last four rungs are flat. Larger working sets then lie in memory
/// too. Memory is reached by its cost, or by as many steps as there are cache `levels`: on a crowded host the last
/// level may have no plateau, so that the steps on both sides of it are one.
pub(crate) fn flat_in_memory(ladder: &[Rung], levels: usize) -> bool {
    let [.., first, _, _, last] = ladder else {
        return false;
    };
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
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;

    fn ladder(costs: &[(f64, f64)]) -> Vec<Rung> {
        costs
            .iter()
            .map(|&(working_set, cost)| Rung {
                working_set,
                cost: Interval::exact(cost),
            })
            .collect()
    }

    #[test]
    fn a_ladder_ends_in_memory_though_its_last_level_has_no_plateau() {
        // Core cycles on a crowded guest. Farther on, page walks make steps slower: 40 % at 1 GiB.
        let costs = [
            (16.0 * KIB, 5.0),
            (32.0 * KIB, 5.0),
            (64.0 * KIB, 15.9),
            (128.0 * KIB, 16.4),
            (256.0 * KIB, 15.8),
            (512.0 * KIB, 17.3),
            (1.0 * MIB, 20.1),
            (1.4 * MIB, 25.4),
            (2.0 * MIB, 82.9),
            (2.8 * MIB, 130.9),
            (4.0 * MIB, 142.5),
            (5.7 * MIB, 160.4),
            (8.0 * MIB, 185.9),
            (11.3 * MIB, 262.8),
            (16.0 * MIB, 320.9),
            (22.6 * MIB, 484.2),
            (32.0 * MIB, 562.6),
            (45.3 * MIB, 570.8),
            (64.0 * MIB, 577.3),
            (90.5 * MIB, 580.6),
            (128.0 * MIB, 585.0),
            (181.0 * MIB, 586.1),
            (256.0 * MIB, 589.3),
        ];
        let crowded = ladder(&costs);
        assert_eq!(steps_of(&crowded).len(), 2);
        assert!(flat_in_memory(&crowded, 3));
        // The way up is not the end, and neither is a last level that holds all of it.
        assert!(!flat_in_memory(&crowded[..16], 3));
        let within = |(size, cost): (f64, f64)| (size, f64::min(cost, 140.0));
        assert!(!flat_in_memory(&ladder(&costs.map(within)), 3));
    }

    #[test]
    fn a_slice_of_a_huge_cache_is_found_by_measuring() {
        // The guest of a Sapphire Rapids whose CPUID claims 260 MiB: memory begins near 16 MiB.
        let rungs = ladder(&[
            (16.0 * KIB, 5.0),
            (32.0 * KIB, 5.0),
            (64.0 * KIB, 16.0),
            (256.0 * KIB, 16.0),
            (1.0 * MIB, 20.0),
            (2.0 * MIB, 30.0),
            (4.0 * MIB, 105.0),
            (8.0 * MIB, 110.0),
            (16.0 * MIB, 390.0),
            (64.0 * MIB, 400.0),
        ]);
        let ranges = Ranges::from_ladder(
            &rungs,
            [Some(48.0 * KIB), Some(2.0 * MIB), Some(260.0 * MIB)],
        );
        let llc = ranges.capacities[2].usable();
        assert!((8.0 * MIB..16.0 * MIB).contains(&llc), "{llc}");
        assert!(ranges.memory.holds(64.0 * MIB));
        assert!(ranges.llc.holds(4.0 * MIB));
        assert!(ranges.l2.holds(256.0 * KIB));
    }

    #[test]
    fn a_slice_of_less_than_a_64th_is_found_too() {
        // A guest of an Emerald Rapids: CPUID claims 300 MiB, and memory begins near 5 MiB.
        let rungs = ladder(&[
            (22.6 * KIB, 5.2),
            (45.3 * KIB, 5.1),
            (64.0 * KIB, 16.3),
            (724.0 * KIB, 16.3),
            (1448.0 * KIB, 16.3),
            (2048.0 * KIB, 42.0),
            (2896.0 * KIB, 96.0),
            (4096.0 * KIB, 105.0),
            (5792.0 * KIB, 310.0),
            (8192.0 * KIB, 348.0),
            (65536.0 * KIB, 345.0),
            (262144.0 * KIB, 370.0),
        ]);
        let reported = [48.0 * KIB, 2.0 * MIB, 300.0 * MIB].map(Some);
        let ranges = Ranges::from_ladder(&rungs, reported);
        let l2 = ranges.capacities[1].usable();
        assert!((1.5 * MIB..2.5 * MIB).contains(&l2), "{l2}");
        let llc = ranges.capacities[2].usable();
        assert!((4.0 * MIB..5.7 * MIB).contains(&llc), "{llc}");
        assert!(ranges.memory.holds(32.0 * MIB));
    }

    #[test]
    fn a_slice_without_a_shelf_ends_where_memory_begins() {
        // Another guest of an Emerald Rapids: between L2 and memory nothing is level.
        let rungs = [
            (45.3 * KIB, 4.9),
            (64.0 * KIB, 16.0),
            (1448.0 * KIB, 16.0),
            (2048.0 * KIB, 48.0),
            (2896.0 * KIB, 106.0),
            (4096.0 * KIB, 138.0),
            (5792.0 * KIB, 345.0),
            (8192.0 * KIB, 340.0),
            (64.0 * MIB, 347.0),
            (256.0 * MIB, 362.0),
        ];
        let reported = [48.0 * KIB, 2.0 * MIB, 300.0 * MIB].map(Some);
        let far = [&rungs[..], &[(2048.0 * MIB, 359.0)]].concat();
        let ranges = Ranges::from_ladder(&ladder(&far), reported);
        assert_eq!(ranges.capacities[2].measured, Some(5792.0 * KIB));
        assert!(ranges.memory.holds(32.0 * MIB));
        // Memory is known by its cost too, but what lies behind a last rung in the last level is not known.
        let near = Ranges::from_ladder(&ladder(&rungs), reported);
        assert_eq!(near.capacities[2].measured, Some(5792.0 * KIB));
        let kept = rungs.map(|(size, cost)| (size, f64::min(cost, 138.0)));
        let within = Ranges::from_ladder(&ladder(&kept), reported);
        assert_eq!(within.capacities[2].measured, None);
    }

    #[test]
    fn page_walks_are_no_level() {
        // A guest of an Emerald Rapids beside a busy hyper-thread: the last level has no plateau, and page walks
        // make steps in memory slower by 80 %.
        let rungs = ladder(&[
            (4.0 * KIB, 5.0),
            (31.0 * KIB, 5.6),
            (44.0 * KIB, 14.9),
            (64.0 * KIB, 16.1),
            (256.0 * KIB, 16.3),
            (724.0 * KIB, 22.3),
            (1.0 * MIB, 45.0),
            (1.4 * MIB, 73.5),
            (2.0 * MIB, 126.0),
            (2.8 * MIB, 399.0),
            (4.0 * MIB, 396.0),
            (8.0 * MIB, 403.0),
            (16.0 * MIB, 426.0),
            (32.0 * MIB, 435.0),
            (64.0 * MIB, 444.0),
            (90.5 * MIB, 480.0),
            (128.0 * MIB, 460.0),
            (181.0 * MIB, 489.0),
            (256.0 * MIB, 500.0),
            (362.0 * MIB, 518.0),
            (512.0 * MIB, 519.0),
            (724.0 * MIB, 615.0),
            (1024.0 * MIB, 659.0),
            (1448.0 * MIB, 733.0),
            (2048.0 * MIB, 773.0),
        ]);
        for mib in [300.0, 480.0, 1152.0] {
            let reported = [48.0 * KIB, 2.0 * MIB, mib * MIB].map(Some);
            let ranges = Ranges::from_ladder(&rungs, reported);
            assert_eq!(ranges.capacities[2].measured, Some(2.8 * MIB));
            assert!(ranges.memory.holds(128.0 * MIB));
        }
        let to = |count: usize| flat_in_memory(&rungs[..count], 3);
        assert!(to(19), "memory is reached at 256 MiB");
        assert!(!to(10), "and not where it begins");
    }

    #[test]
    fn without_cpuid_the_steps_stand_alone() {
        let rungs = ladder(&[
            (16.0 * KIB, 4.0),
            (32.0 * KIB, 4.0),
            (64.0 * KIB, 14.0),
            (512.0 * KIB, 14.0),
            (2.0 * MIB, 50.0),
            (8.0 * MIB, 50.0),
            (64.0 * MIB, 400.0),
        ]);
        let ranges = Ranges::from_ladder(&rungs, [None; 3]);
        let l1 = ranges.capacities[0].usable();
        assert!((32.0 * KIB..64.0 * KIB).contains(&l1), "{l1}");
        assert!(ranges.memory.lo > 32.0 * MIB);
    }

    #[test]
    fn a_cache_larger_than_the_ladder_keeps_its_reported_size() {
        let rungs = ladder(&[(16.0 * KIB, 4.0), (64.0 * KIB, 14.0), (1.0 * MIB, 14.5)]);
        let ranges = Ranges::from_ladder(
            &rungs,
            [Some(32.0 * KIB), Some(2.0 * MIB), Some(768.0 * MIB)],
        );
        assert_eq!(ranges.capacities[2].usable(), 768.0 * MIB);
        assert!(!ranges.memory.holds(1024.0 * MIB));
    }

    #[test]
    fn a_range_says_where_it_lies_or_that_it_is_empty() {
        let said = |lo: f64, hi: f64| {
            let (lo, hi) = (lo * KIB, hi * KIB);
            Range { lo, hi }.to_string()
        };
        assert_eq!(said(64.0, 512.0), "range 64 to 512 KiB");
        assert_eq!(said(64.0, f64::INFINITY), "range from 64 KiB");
        let empty = "empty range (at least 2048 KiB, at most 1113 KiB)";
        assert_eq!(said(2048.0, 1113.0), empty);
    }
}
