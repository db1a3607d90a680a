//! What the points of a run tell of the machine, beside what it says of itself: the curves that
//! [`infer`] wants, out of the experiments that draw them.

use crate::experiment::family::replacement;
use crate::experiment::setup::{PendingSetup, WalkSetup};
use crate::experiment::{Case, Evidence, LADDER, Machine, Point, SPARSE, State, Unit, find};
use crate::infer::{self, Curve, Found, Level, Sets};
use crate::kernel::MOST_PENDING;
use crate::lab::record::MACHINE;
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use crate::stats::Interval;
use crate::time::Rate;

/// Figure 6.5, over distances in lines; loads over the end of a line; a line of each of many pages;
/// stores to many lines in turn; exchanges in many chains; sequences of loads in one set.
const CONFLICTS: &str = "E18";
const OFFSETS: &str = "X5";
const PAGES: &str = "X9";
const STREAMS: &str = "E2";
const WALKS: &str = "X10";
const SEQUENCES: &str = "D32";

/// Series of those experiments.
const LOADS_OF_8: &str = "8 bytes";
const LINE_A_PAGE: &str = "a line of each page";
const LINES_ALONE: &str = "as many lines side by side";
const SIDE_BY_SIDE: &str = "a step of one of n walks";
const IN_TURN: &str = "non-temporal, one store to each of n lines in turn";

/// Series that no experiment has: rounds over their number of stores, and lists of so many lines
/// over the distance between two.
const PENDING: &str = "divisions, and n stores behind them";
const FAR_APART: &str = "lines of a list, n bytes apart: ";

/// What was inferred of a machine, as far as its points go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inferred {
    /// The levels that the ladder shows, memory the last.
    pub levels: Vec<Level>,
    /// Bytes of a line.
    pub line: Option<Found<u32>>,
    /// Sets and ways of L1d.
    pub l1: Option<Found<Sets>>,
    /// The policies that explain which lines a set of L1d gives up; empty if none that is known
    /// does.
    pub policy: Option<Found<Vec<&'static str>>>,
    /// Bytes of L2.
    pub l2: Option<Found<f64>>,
    /// Sets and ways of L2, if they come to its size.
    pub l2_sets: Option<Found<Sets>>,
    /// Entries of the L1 dTLB and of the second level for 4 KiB pages.
    pub entries: [Option<Interval>; 2],
    /// Stores that wait at once: at least, and at most.
    pub stores: Option<Found<[u32; 2]>>,
    /// Write-combining buffers.
    pub combining: Option<Found<u32>>,
    /// Misses of L1d that are on their way at once: at least, and at most.
    pub parallel: Option<Interval>,
    /// Core cycles a tick.
    pub clock: Option<Found<f64>>,
}

impl Inferred {
    /// What the ladder tells, and the points of each experiment that `points` has some of.
    pub fn of(machine: &Machine, ladder: &[Point], points: impl Fn(&str) -> Vec<Point>) -> Self {
        let rungs = quickest(ladder, machine.rate);
        let sparse = usual(ladder, machine.rate);
        let of = |id: &str, series: &str| curve(machine, &points(id), series);
        let l1 = sets(machine, &points(CONFLICTS));
        let pages = points(PAGES);
        let levels = infer::levels(&rungs);
        let l2 = either(infer::size(&rungs, 1), infer::size(&sparse, 1));
        let by_lists = || {
            let found = policy(machine, &points(CONFLICTS), l1.as_ref()?.value)?;
            Some(found.map(|policies| vec![policies]))
        };
        Inferred {
            line: infer::line(&of(OFFSETS, LOADS_OF_8), 8.0),
            policy: by_sequences(machine, &points(SEQUENCES)).or_else(by_lists),
            l1,
            l2_sets: sets_behind(machine, &points(MACHINE), &levels)
                .filter(|sets| l2.as_ref().is_none_or(|l2| sets.value.size() == l2.value)),
            l2,
            levels,
            entries: entries(
                &curve(machine, &pages, LINE_A_PAGE),
                &curve(machine, &pages, LINES_ALONE),
            ),
            stores: infer::last_abreast(&of(MACHINE, PENDING)),
            combining: infer::last_before_rise(&of(STREAMS, IN_TURN)),
            parallel: infer::in_parallel(&of(WALKS, SIDE_BY_SIDE)),
            clock: clock(ladder),
        }
    }

    /// Bytes of the L1d, if its sets and ways were found.
    pub fn l1_size(&self) -> Option<f64> {
        self.l1.as_ref().map(|l1| l1.value.size())
    }
}

/// A series in core cycles, or in nanoseconds without a core clock; empty if it was not measured.
fn curve(machine: &Machine, points: &[Point], series: &str) -> Vec<(f64, Interval)> {
    let of = |unit| {
        let evidence = Evidence {
            machine,
            points,
            unit,
        };
        evidence.series(series).ok()
    };
    of(Unit::CoreCycles)
        .or_else(|| of(Unit::Nanoseconds))
        .unwrap_or_default()
}

/// Figure 6.5 turned round: the lengths of the lists are the labels of its series.
fn conflicts(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let mut lengths: Vec<u32> = points
        .iter()
        .filter_map(|point| point.series.parse().ok())
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut distances: Vec<(f64, Vec<(f64, Interval)>)> = Vec::new();
    for length in lengths {
        for (lines, time) in curve(machine, points, &length.to_string()) {
            let bytes = lines * LINE as f64;
            let at = (f64::from(length), time);
            match distances
                .iter_mut()
                .find(|(distance, _)| *distance == bytes)
            {
                Some((_, times)) => times.push(at),
                None => distances.push((bytes, vec![at])),
            }
        }
    }
    distances
}

fn sets(machine: &Machine, points: &[Point]) -> Option<Found<Sets>> {
    let all = conflicts(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets(&borrowed)
}

/// By sequences that were chosen to tell policies apart.
fn by_sequences(machine: &Machine, points: &[Point]) -> Option<Found<Vec<&'static str>>> {
    let of = |unit| {
        let evidence = Evidence {
            machine,
            points,
            unit,
        };
        replacement::replaced(&evidence).ok()
    };
    of(Unit::CoreCycles).or_else(|| of(Unit::Nanoseconds))
}

/// Lengths of lists whose lines lie far apart: about the ways that an L2 can have.
const LENGTHS: [usize; 10] = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24];

/// Distances, in bytes, at which the lines of an L2 meet: of 256 sets to 4,096.
const DISTANCES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

/// Sets and ways of L2, from lists that leave it: only where 2 MiB pages let addresses choose the
/// sets. A host may back a guest's with small ones, so that chance chooses them: then these come to
/// another size than the ladders.
fn sets_behind(machine: &Machine, points: &[Point], levels: &[Level]) -> Option<Found<Sets>> {
    let in_large_pages = |point: &&Point| match &point.state {
        State::Measured(measured) => measured.pages.starts_with("2 MiB"),
        _ => false,
    };
    let far = |point: &&Point| point.series.starts_with(FAR_APART);
    let points: Vec<Point> = points
        .iter()
        .filter(far)
        .filter(in_large_pages)
        .cloned()
        .collect();
    let [_, l2, next, ..] = levels else {
        return None;
    };
    // Three quarters of the way to the next level: a line that L1d gave up right before takes twice
    // as long as others of L2, and all of a list miss where it leaves the sets of L2.
    let limit = (l2.latency.value + 3.0 * next.latency.value) / 4.0;
    let all: Vec<(f64, Vec<(f64, Interval)>)> = DISTANCES
        .iter()
        .map(|&distance| {
            let times = LENGTHS.iter().filter_map(|&length| {
                let series = format!("{FAR_APART}{length}");
                let times = curve(machine, &points, &series);
                let (_, time) = times.into_iter().find(|(x, _)| *x == distance as f64)?;
                Some((length as f64, time))
            });
            (distance as f64, times.collect())
        })
        .collect();
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets_within(&borrowed, limit)
}

/// The cases of [`sets_behind`].
fn far_apart(machine: &Machine) -> impl Iterator<Item = Case> {
    let seed = machine.seed;
    DISTANCES.into_iter().flat_map(move |distance| {
        LENGTHS.into_iter().map(move |length| {
            let setup = WalkSetup {
                layout: Layout::npad(7).spaced(distance),
                count: length,
                order: Order::Random { seed },
                step: crate::kernel::Step::Follow,
            };
            Case::new(format!("{FAR_APART}{length}"), distance as f64, setup).in_large_pages()
        })
    })
}

/// The policies that are told apart: lists that are walked in turn lose every line under LRU, and
/// under tree-PLRU and round robin, too.
const POLICIES: [(&str, Replacement); 3] = [
    ("LRU, tree-PLRU or round robin", Replacement::Lru),
    ("bit-PLRU", Replacement::BitPlru),
    ("random", Replacement::Random { seed: 1 }),
];

fn policy(machine: &Machine, points: &[Point], l1: Sets) -> Option<Found<&'static str>> {
    let all = conflicts(machine, points);
    let (_, times) = all
        .into_iter()
        .find(|(distance, _)| *distance == l1.period)?;
    let longest = times.last()?.0 as u32;
    let known: Vec<(&'static str, Vec<(u32, f64)>)> = POLICIES
        .into_iter()
        .filter_map(|(name, policy)| Some((name, simulated(policy, l1.ways, longest)?)))
        .collect();
    infer::policy(&times, l1.ways, &known)
}

/// Rounds over a list before its misses count, and those that count.
const ROUNDS: [u64; 2] = [50, 200];

/// The share of misses of lists of `ways + 1` to `longest` lines in one set.
fn simulated(policy: Replacement, ways: u32, longest: u32) -> Option<Vec<(u32, f64)>> {
    // One set: every line falls into it.
    let line = LINE as u64;
    let geometry = Geometry::new(u64::from(ways) * line, ways.into(), line).ok()?;
    let lost = |length: u32| {
        let mut cache = Cache::new(Design::lru(geometry).replacing(policy));
        let misses = ROUNDS.map(|rounds| {
            for _ in 0..rounds {
                for element in 0..u64::from(length) {
                    cache.reference(Reference::load(element * line, 8));
                }
            }
            cache.counters().reads.misses
        });
        let steps = ROUNDS[1] * u64::from(length);
        (length, (misses[1] - misses[0]) as f64 / steps as f64)
    };
    Some((ways + 1..=longest).map(lost).collect())
}

/// Between them lie the entries of every L1 dTLB, and of every second level.
const FEW: f64 = 16.0;
const MIDDLE: f64 = 384.0;
const MANY: f64 = 8192.0;

/// Entries of both levels: what as many lines without their pages cost is taken off beyond the
/// first, so that steps of the caches drop out.
fn entries(pages: &Curve, lines: &Curve) -> [Option<Interval>; 2] {
    let of_lines = |count: f64| {
        lines
            .iter()
            .find(|(at, _)| *at == count)
            .map(|(_, time)| *time)
    };
    let beyond = |count: f64, time: Interval| {
        let (near, far) = (of_lines(MIDDLE)?, of_lines(count)?);
        let less = Interval::new(far.lo - near.hi, far.hi - near.lo);
        Some((count, Interval::new(time.lo - less.hi, time.hi - less.lo)))
    };
    let behind: Vec<(f64, Interval)> = pages
        .iter()
        .filter(|(count, _)| *count >= MIDDLE)
        .filter_map(|&(count, time)| beyond(count, time))
        .collect();
    [
        infer::entries(pages, FEW, MIDDLE),
        infer::entries(&behind, MIDDLE, MANY),
    ]
}

/// The rungs of a ladder, each from the pass in which it was quickest: a neighbour that takes part
/// of a cache makes a step slower, and none makes it faster.
fn quickest(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, LADDER, rate, |passes| passes.first().copied())
}

/// The rungs of the sparse walks, each as it was in the middle half of its passes: a neighbour takes
/// little from them, and luck, which pages crowd which sets, goes both ways.
fn usual(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, SPARSE, rate, |passes| match passes {
        [] => None,
        [only] => Some(*only),
        [..] => {
            let last = passes.len() - 1;
            let (lo, hi) = (passes[last / 4], passes[last - last / 4]);
            Some(Interval::new(lo.middle(), hi.middle()))
        }
    })
}

/// The rungs of one series of the ladder in core cycles, or in nanoseconds without a core clock: of
/// the passes over each, the quickest first, what `pick` makes of them.
fn rungs(
    ladder: &[Point],
    series: &str,
    rate: Rate,
    pick: impl Fn(&[Interval]) -> Option<Interval>,
) -> Vec<(f64, Interval)> {
    let of_series = ladder.iter().filter(|point| point.series == series);
    let mut rungs: Vec<(f64, Interval)> = of_series
        .filter_map(|point| {
            let State::Measured(measured) = &point.state else {
                return None;
            };
            let passes = measured.passes(Unit::CoreCycles, rate);
            let passes = passes.or_else(|| measured.passes(Unit::Nanoseconds, rate))?;
            let mut passes: Vec<Interval> = passes.into_iter().map(|pass| pass.interval).collect();
            passes.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
            Some((point.x, pick(&passes)?))
        })
        .collect();
    rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
    rungs
}

/// What both ladders say, with the surer one's confidence. If they differ, what the sparse one says,
/// from which neighbours take less, and half as sure.
fn either(dense: Option<Found<f64>>, sparse: Option<Found<f64>>) -> Option<Found<f64>> {
    match (dense, sparse) {
        (Some(dense), Some(sparse)) => Some(Found {
            confidence: match dense.value == sparse.value {
                true => dense.confidence.max(sparse.confidence),
                false => sparse.confidence / 2.0,
            },
            ..sparse
        }),
        (dense, sparse) => sparse.or(dense),
    }
}

/// Core cycles a tick, from every point of the ladder; they agree where neither clock changed.
fn clock(ladder: &[Point]) -> Option<Found<f64>> {
    let ratios = ladder.iter().filter_map(|point| match &point.state {
        State::Measured(measured) => measured.core_per_tick,
        _ => None,
    });
    infer::settled(ratios, 0.01)
}

/// Rounds of up to as many stores as the largest store buffer has, and then some.
fn pending() -> impl Iterator<Item = Case> {
    (8..=MOST_PENDING)
        .step_by(4)
        .map(|stores| Case::new(PENDING, f64::from(stores), PendingSetup { stores }))
}

/// The cases that all of this needs beside the ladder, experiment by experiment: some thirty
/// seconds of measuring.
pub fn probes(machine: &Machine) -> Vec<(&'static str, Vec<Case>)> {
    let needed = |id: &'static str, wanted: fn(&Case) -> bool| {
        let experiment = find(id)?;
        let cases = (experiment.cases)(machine).into_iter().filter(wanted);
        Some((experiment.id, cases.collect()))
    };
    [
        needed(OFFSETS, |case| case.series == LOADS_OF_8),
        needed(CONFLICTS, |case| {
            // Sets repeat after a power of two.
            let lines = case.x as u64;
            lines >= 32 && lines.is_power_of_two()
        }),
        needed(PAGES, |case| {
            [LINE_A_PAGE, LINES_ALONE].contains(&case.series.as_str())
        }),
        needed(STREAMS, |case| case.series == IN_TURN && case.x <= 24.0),
        needed(WALKS, |case| case.series == SIDE_BY_SIDE),
        needed(SEQUENCES, |case| replacement::is_of(&case.series)),
    ]
    .into_iter()
    .flatten()
    .chain([(MACHINE, pending().chain(far_apart(machine)).collect())])
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ladders_that_differ_the_sparse_one_is_half_believed() {
        let found = |value, confidence| Some(Found { value, confidence });
        assert_eq!(either(found(1.0, 0.6), found(1.0, 0.9)), found(1.0, 0.9));
        assert_eq!(either(found(1.0, 0.9), found(1.0, 0.6)), found(1.0, 0.9));
        assert_eq!(either(found(0.5, 1.0), found(1.0, 0.8)), found(1.0, 0.4));
        assert_eq!(either(found(1.0, 0.8), None), found(1.0, 0.8));
        assert_eq!(either(None, found(1.0, 0.8)), found(1.0, 0.8));
        assert_eq!(either(None, None), None);
    }
}
