//! Infers the parameters of a machine from the points of a run: selects the curves that [`infer`] needs from
//! the experiments that measure them.

mod sets;

use crate::experiment::shared::arithmetic::PendingSetup;
use crate::experiment::topics::code::buffers;
use crate::experiment::topics::code::footprint::branches;
use crate::experiment::topics::hierarchy::replacement;
use crate::experiment::topics::parallelism::lanes::LANES;
use crate::experiment::topics::stores::combining::INTERLEAVED;
use crate::experiment::topics::threads::accuracy;
use crate::experiment::topics::tlb::tlb_sets;
use crate::experiment::{Case, Evidence, LADDER, Machine, Point, SPARSE, Unit, find, in_words};
use crate::infer::{self, Curve, Found, Level, Sets};
use crate::kernel::MOST_PENDING;
use crate::lab::record::{MACHINE, Record};
use crate::lab::size::show;
use crate::order::least_first;
use crate::stats::Interval;
use crate::time::Rate;

/// Figure 6.5: lists over the distance between their lines.
const CONFLICTS: &str = "E18";
/// Loads across the end of a line.
const OFFSETS: &str = "X5";
/// A line of each of many pages.
const PAGES: &str = "X9";
/// Stores to many lines in turn.
const STREAMS: &str = "E2";
/// Random walks in parallel.
const WALKS: &str = "X10";
/// Sequences of loads in one set.
const SEQUENCES: &str = "D32";
/// Walks from node to node.
const NODES: &str = "X19";
/// Taken jumps.
const BRANCHES: &str = "E20";

/// Up to this confidence an inferred size is a range, and a replacement policy only a candidate.
pub(super) const UNSURE: f64 = 0.5;

/// A series of the loads across the end of a line.
const LOADS_OF_8: &str = "8 bytes";

/// A series that belongs to no experiment: the time of a round over its number of stores.
const PENDING: &str = "divisions, and n stores behind them";

/// The parameters of a machine that its points allow to infer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inferred {
    /// The levels that the ladder shows. The last one is memory.
    pub levels: Vec<Level>,
    /// Bytes of a line.
    pub line: Option<Found<u32>>,
    /// Sets and ways of L1d.
    pub l1: Option<Found<Sets>>,
    /// The replacement policies that explain the evictions of a set of L1d; empty if no known policy does.
    pub policy: Option<Found<Vec<&'static str>>>,
    /// Bytes of L2.
    pub l2: Option<Found<f64>>,
    /// The least and the largest size of L2 in bytes, if the ladders leave doubt.
    pub l2_range: Option<[f64; 2]>,
    /// Sets and ways of L2, if they agree with its size.
    pub l2_sets: Option<Found<Sets>>,
    /// The replacement policy of L2, or why it cannot be inferred.
    pub l2_policy: Option<Result<Found<&'static str>, Reason>>,
    /// Entries of the L1 dTLB and of the second level for 4 KiB pages.
    pub entries: [Option<Interval>; 2],
    /// The capacities of buffers by name, each at least and at most: operations in the reorder buffer, loads
    /// in the load queue, general and vector registers for results, and return addresses in the return stack.
    pub buffers: Vec<(&'static str, Found<[u32; 2]>)>,
    /// The number of jumps that surely run at full speed, and the number from which they surely do not, if so
    /// many were measured.
    pub branches: Option<(f64, Option<f64>)>,
    /// Stores that the store buffer holds: at least, and at most.
    pub stores: Option<Found<[u32; 2]>>,
    /// Write-combining buffers.
    pub combining: Option<Found<u32>>,
    /// Outstanding misses of L1d: at least, and at most.
    pub parallel: Option<Interval>,
    /// The spread of the single runs of each series, in words.
    pub accuracy: Vec<(&'static str, String)>,
    /// The latencies of the nodes' memory.
    pub nodes: Vec<Reach>,
    /// Core cycles per tick, of the median point of the ladder.
    pub clock: Option<Found<f64>>,
}

/// Why the replacement policy of L2 cannot be inferred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// 2 MiB pages were not granted.
    SmallPages,
    /// L2 keeps more lines at one page offset than it has room for without a hash. A hash of more address
    /// bits chooses the set.
    Hashed {
        /// Lines that stay.
        lines: f64,
        /// Lines that have room without a hash.
        room: f64,
    },
    /// Lines in 2 MiB pages do not conflict in sets, and no hash shows.
    Scattered,
    /// Lines in 2 MiB pages conflict in sets, and no number of ways agrees with the size of L2.
    Unsized {
        /// Bytes after which the sets repeat.
        period: f64,
    },
}

messages! { Reason:
    Reason::SmallPages => (
        "2 MiB pages were not granted, and addresses in smaller pages do not choose the sets"
    );
    Reason::Hashed { lines, room } => (
        "a hash chooses the sets: {lines} lines at one offset of their pages stay in L2, and \
         without a hash {room} have room"
    );
    Reason::Scattered => (
        "lines 16 to 256 KiB apart in 2 MiB pages do not meet in sets: a host may back a guest's \
         large pages with small ones"
    );
    Reason::Unsized { period } => (
        "lines {} apart meet in sets, but no number of ways agrees with the size of L2",
        show(*period)
    );
}

/// The latency of a node's memory from a node's CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The node of the CPU.
    pub from: usize,
    /// The node of the memory.
    pub to: usize,
    /// Nanoseconds of a random step.
    pub nanos: Interval,
}

impl Inferred {
    /// Infers the parameters from the ladder and from the points of each experiment, which `points` returns.
    pub fn of<'p>(
        machine: &Machine,
        ladder: &[Point],
        points: impl Fn(&str) -> &'p [Point],
    ) -> Self {
        let rungs = quickest(ladder, machine.rate);
        let sparse = usual(ladder, machine.rate);
        let of = |id: &str, series: &str| curve(machine, points(id), series);
        let l1 = sets::of_l1(machine, points(CONFLICTS));
        let pages = points(PAGES);
        let levels = infer::levels(&rungs);
        let mut l2 = size_of_l2(&rungs, &sparse);
        let confidence = l2.as_ref().map_or(1.0, |l2| l2.confidence);
        let unsure = confidence <= UNSURE;
        let ladders = [&rungs, &sparse].into_iter().filter(|_| confidence < 1.0);
        let mut sizes: Vec<f64> = ladders.flat_map(|of| infer::sizes(of, 1)).collect();
        least_first(&mut sizes, |size| *size);
        let mut l2_range = sizes.first().zip(sizes.last()).map(|(a, b)| [*a, *b]);
        if !unsure {
            sizes.clear();
        }
        sizes.extend(l2.iter().map(|l2| l2.value));
        let by_lists = || {
            let found = sets::by_lists(machine, points(CONFLICTS), l1.as_ref()?.value)?;
            Some(found.map(|policies| vec![policies]))
        };
        let probed = points(MACHINE);
        let lists = sets::far_lists(machine, probed);
        let ways_of_l1 = l1.as_ref().map(|l1| l1.value.ways);
        let l2_sets = sets::of_l2(&lists, &levels, ways_of_l1, &sizes);
        let sure = l2_sets.clone().filter(|sets| sets.confidence > UNSURE);
        if let Some(sets) = sure.filter(|_| unsure) {
            // The sets tell apart the sizes that end between the same rungs.
            l2 = Some(sets.map(|sets| sets.size()));
            l2_range = None;
        }
        let of_both = (l1.as_ref(), l2_sets.as_ref());
        Inferred {
            l2_policy: sets::replaced(machine, probed, &levels, l2.as_ref(), of_both),
            line: infer::line(&of(OFFSETS, LOADS_OF_8), 8.0),
            policy: sets::by_sequences(machine, points(SEQUENCES)).or_else(by_lists),
            l1,
            l2_range,
            l2_sets,
            l2,
            levels,
            entries: entries_of_both(
                &curve(machine, pages, tlb_sets::PAGES),
                &curve(machine, pages, tlb_sets::LINES),
            ),
            buffers: buffers_of(|series| of(buffers::ID, series)),
            branches: {
                let evidence = Evidence::new(machine, points(BRANCHES), Unit::CyclesPerInstruction);
                branches::at_full_speed(&evidence).ok()
            },
            stores: infer::last_abreast(&of(MACHINE, PENDING)),
            combining: infer::last_before_rise(&of(STREAMS, INTERLEAVED)),
            parallel: infer::in_parallel(&of(WALKS, LANES)),
            accuracy: spreads(machine, points(accuracy::ID)),
            nodes: reaches(machine, points(NODES)),
            clock: clock(ladder),
        }
    }
}

/// Describes the spread of the single runs of each series in words.
fn spreads(machine: &Machine, points: &[Point]) -> Vec<(&'static str, String)> {
    let of = |series: &'static str| {
        let measured = points.iter().find(|point| point.series == series)?.measured()?;
        let words = in_words(&measured.runs, machine.rate, measured.core_per_tick)?;
        Some((series, words))
    };
    accuracy::SERIES.into_iter().filter_map(of).collect()
}

/// Returns the latency of each node's memory from each node, as far as it was measured.
fn reaches(machine: &Machine, points: &[Point]) -> Vec<Reach> {
    let of = |point: &Point| {
        Some(Reach {
            from: point.series.parse().ok()?,
            to: point.x as usize,
            nanos: point.interval(Unit::Nanoseconds, machine.rate).ok()?,
        })
    };
    points.iter().filter_map(of).collect()
}

/// Infers the capacities of buffers: the instructions that fit between two chains, and the depth of calls
/// that the return stack holds. The names are those of the sheet.
fn buffers_of(of: impl Fn(&str) -> Vec<(f64, Interval)>) -> Vec<(&'static str, Found<[u32; 2]>)> {
    let between = [
        ("reorder buffer", buffers::OPERATIONS),
        ("load queue", buffers::LOADS),
        ("general registers for results", buffers::SUMS),
        ("vector registers for results", buffers::VECTOR_SUMS),
    ];
    let windows = between
        .into_iter()
        .filter_map(|(name, series)| Some((name, buffers::entries(series, &of(series))?)));
    let calls = buffers::return_stack(&of(buffers::CALLS)).map(|found| ("return stack", found));
    windows.chain(calls).collect()
}

/// Returns the quickest passes of a series in core cycles, or in nanoseconds without a core clock. Empty if the
/// series was not measured.
fn curve(machine: &Machine, points: &[Point], series: &str) -> Vec<(f64, Interval)> {
    let of = |unit| Evidence::new(machine, points, unit).quickest(series).ok();
    of(Unit::CoreCycles).or_else(|| of(Unit::Nanoseconds)).unwrap_or_default()
}

/// Bounds on the number of entries: `FEW` to `MIDDLE` in an L1 dTLB, `MIDDLE` to `MANY` in a second-level
/// TLB.
const FEW: f64 = 16.0;
const MIDDLE: f64 = 384.0;
const MANY: f64 = 8192.0;

/// Infers the entries of both TLB levels. For the second level, subtracts the rise in the time of as many
/// adjacent lines, which lie in few pages. So the steps of the caches cancel.
fn entries_of_both(pages: &Curve, lines: &Curve) -> [Option<Interval>; 2] {
    let of_lines = |count: f64| lines.iter().find(|(at, _)| *at == count).map(|(_, time)| *time);
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
    [infer::entries(pages, FEW, MIDDLE), infer::entries(&behind, MIDDLE, MANY)]
}

/// Returns the cases of `PENDING`: up to more stores than the largest store buffer holds.
fn pending() -> impl Iterator<Item = Case> {
    (8..=MOST_PENDING)
        .step_by(4)
        .map(|stores| Case::new(PENDING, f64::from(stores), PendingSetup { stores }))
}

/// Returns the cases that the inference needs besides the ladder, by experiment. Measuring them takes about
/// thirty seconds.
pub fn probes(machine: &Machine) -> Vec<(&'static str, Vec<Case>)> {
    let needed = |id: &'static str, wanted: fn(&Case) -> bool| {
        let experiment = find(id)?;
        Some((experiment.id, (experiment.cases)(machine).into_iter().filter(wanted).collect()))
    };
    [
        needed(OFFSETS, |case| case.series == LOADS_OF_8),
        needed(CONFLICTS, |case| {
            // Sets repeat after a power of two.
            let lines = case.x as u64;
            lines >= 32 && lines.is_power_of_two()
        }),
        needed(PAGES, |case| [tlb_sets::PAGES, tlb_sets::LINES].contains(&case.series.as_str())),
        needed(STREAMS, |case| case.series == INTERLEAVED && case.x <= 24.0),
        needed(WALKS, |case| case.series == LANES),
        needed(accuracy::ID, |_| true),
        needed(SEQUENCES, |case| replacement::is_of(&case.series)),
        needed(buffers::ID, |case| !case.setup.is_count()),
        needed(BRANCHES, |case| case.series == branches::EVERY_16_BYTES),
    ]
    .into_iter()
    .flatten()
    .chain([(
        MACHINE,
        pending().chain(sets::far_apart(machine)).chain(sets::cases(machine)).collect(),
    )])
    .collect()
}

/// Returns the rungs of the ladder, each from its quickest pass. A neighbour that takes part of a cache makes
/// a step slower, never faster.
fn quickest(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, LADDER, rate, &|passes| passes.first().copied())
}

/// Returns the rungs of the sparse walks, each as the range of the middle half of its passes. Neighbours
/// disturb these walks little. The placement of pages in sets makes a pass slower or faster by chance.
fn usual(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, SPARSE, rate, &|passes| match passes {
        [] => None,
        [only] => Some(*only),
        [..] => {
            let last = passes.len() - 1;
            let (lo, hi) = (passes[last / 4], passes[last - last / 4]);
            Some(Interval::new(lo.middle(), hi.middle()))
        }
    })
}

/// Returns the rungs of a series of the ladder in core cycles, or in nanoseconds without a core clock. `pick`
/// chooses an interval from the passes over a rung, which are sorted from the quickest to the slowest.
fn rungs(
    ladder: &[Point],
    series: &str,
    rate: Rate,
    pick: &dyn Fn(&[Interval]) -> Option<Interval>,
) -> Vec<(f64, Interval)> {
    let of_series = ladder.iter().filter(|point| point.series == series);
    let mut rungs: Vec<(f64, Interval)> = of_series
        .filter_map(|point| {
            let measured = point.measured()?;
            let passes = measured.passes(Unit::CoreCycles, rate);
            let passes = passes.or_else(|| measured.passes(Unit::Nanoseconds, rate))?;
            let mut passes: Vec<Interval> = passes.into_iter().map(|pass| pass.interval).collect();
            least_first(&mut passes, |pass| pass.middle());
            Some((point.x, pick(&passes)?))
        })
        .collect();
    least_first(&mut rungs, |(bytes, _)| *bytes);
    rungs
}

/// Infers the size of L2, in bytes, from both ladders. On a crowded host one of them may rise from L2 to memory
/// in one step. Its rise is then no end of L2 alone, and the other ladder decides.
fn size_of_l2(dense: &Curve, sparse: &Curve) -> Option<Found<f64>> {
    /// The factor between the times behind L2 from which on they belong to different levels.
    const OTHER_LEVEL: f64 = 1.5;
    let behind = |ladder| infer::levels(ladder).get(2).map(|level| level.latency.value);
    if let Some((dense_behind, sparse_behind)) = behind(dense).zip(behind(sparse)) {
        if dense_behind > OTHER_LEVEL * sparse_behind {
            return infer::size(sparse, 1);
        }
        if sparse_behind > OTHER_LEVEL * dense_behind {
            return infer::size(dense, 1);
        }
    }
    either(infer::size(dense, 1), infer::size(sparse, 1), || {
        infer::size_of_both([dense, sparse], 1)
    })
}

/// Combines the results of both ladders. If they agree, takes the higher confidence. If they differ, takes
/// the size that explains both ladders best, or else the size of the sparse ladder, which neighbours disturb
/// less, with half its confidence.
fn either(
    dense: Option<Found<f64>>,
    sparse: Option<Found<f64>>,
    both: impl FnOnce() -> Option<Found<f64>>,
) -> Option<Found<f64>> {
    match (dense, sparse) {
        (Some(dense), Some(sparse)) if dense.value == sparse.value => {
            Some(Found { confidence: dense.confidence.max(sparse.confidence), ..sparse })
        }
        (Some(_), Some(sparse)) => {
            both().or(Some(Found { confidence: sparse.confidence / 2.0, ..sparse }))
        }
        (dense, sparse) => sparse.or(dense),
    }
}

/// Infers the core cycles per tick from all points of the ladder. The points agree if neither clock rate
/// changed.
fn clock<'p>(ladder: impl IntoIterator<Item = &'p Point>) -> Option<Found<f64>> {
    infer::settled(ladder.into_iter().filter_map(|point| point.measured()?.core_per_tick), 0.01)
}

/// Returns the core cycles per tick of a record: those of the ladder, or of the header if there is no ladder. The
/// header's few looks are all taken at the start, where a busy hyper-thread may disturb them.
pub fn core_per_tick(record: &Record) -> Option<f64> {
    let ladder = record.points.iter().filter(|of| of.experiment == MACHINE);
    let found = clock(ladder.map(|line| &line.point));
    found.map(|found| found.value).or(record.header.core_per_tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_without_a_last_level_does_not_decide_the_size_of_l2() {
        // A guest of an Emerald Rapids with 2 MiB of L2, beside a busy hyper-thread. The dense walk loses its lines
        // of the last level, the sparse walk keeps them.
        let kib = [
            64.0, 90.5, 128.0, 181.0, 256.0, 362.0, 512.0, 724.0, 1024.0, 1448.0, 2048.0, 2896.0,
            4096.0, 5793.0, 8192.0, 11585.0,
        ];
        let dense = [
            15.9, 16.0, 16.0, 16.0, 16.0, 15.6, 17.3, 19.1, 20.2, 33.2, 54.4, 102.1, 305.1, 353.6,
            364.4, 374.3,
        ];
        let sparse = [
            16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 18.0, 19.7, 20.5, 24.6, 49.0, 92.8, 110.2, 112.0,
            116.8, 122.7,
        ];
        let ladder = |costs: [f64; 16]| {
            let l1 = [4.0, 8.0, 16.0, 32.0].map(|kib| (kib, 5.0));
            let rungs = l1.into_iter().chain(kib.into_iter().zip(costs));
            let rungs =
                rungs.map(|(kib, cost)| (kib * 1024.0, Interval::new(0.99 * cost, 1.01 * cost)));
            rungs.collect::<Vec<_>>()
        };
        let found = size_of_l2(&ladder(dense), &ladder(sparse)).unwrap();
        assert_eq!(found.value, 2097152.0);
        assert!(found.confidence > 0.9, "{}", found.confidence);
    }

    #[test]
    fn ladders_that_differ_are_asked_together_or_else_the_sparse_one_is_half_believed() {
        let found = |value, confidence| Some(Found { value, confidence });
        let either = |dense, sparse, both: Option<Found<f64>>| either(dense, sparse, || both);
        let alike = |a, b| either(found(1.0, a), found(1.0, b), found(9.0, 1.0));
        assert_eq!(alike(0.6, 0.9), found(1.0, 0.9));
        assert_eq!(alike(0.9, 0.6), found(1.0, 0.9));
        let both = found(0.5, 0.7);
        assert_eq!(either(found(0.5, 1.0), found(1.0, 0.8), both.clone()), both);
        assert_eq!(either(found(0.5, 1.0), found(1.0, 0.8), None), found(1.0, 0.4));
        assert_eq!(either(None, found(1.0, 0.8), both), found(1.0, 0.8));
        assert_eq!(either(None, None, None), None);
    }
}
