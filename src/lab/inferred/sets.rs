//! Infers sets, ways and replacement policies of L1d and L2 from lists whose lines conflict in a set, or says
//! why they cannot be inferred.

use super::{Reason, curve};
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::hierarchy::replacement;
use crate::experiment::{Case, Evidence, Machine, Point, Unit};
use crate::infer::{self, Curve, Found, Level, Sets};
use crate::kernel::Step;
use crate::mem::LINE;
use crate::order::{self, grouped};
use crate::pattern::{Layout, Order};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use crate::stats::Interval;

/// The prefix of series that belong to no experiment: lists of a number of lines, over the distance between
/// two lines in bytes.
const FAR_APART: &str = "lines of a list, n bytes apart: ";

/// Returns the times of figure 6.5 over the length of the list, for each distance in bytes. The labels of the
/// figure's series are the lengths.
pub(super) fn conflicts(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let lengths =
        order::distinct::<u32>(points.iter().filter_map(|point| point.series.parse().ok()));
    grouped(lengths.into_iter().flat_map(|length| {
        let curve = curve(machine, points, &length.to_string()).into_iter();
        curve.map(move |(lines, time)| (lines * LINE as f64, (f64::from(length), time)))
    }))
}

/// Infers the sets and ways of L1d.
pub(super) fn of_l1(machine: &Machine, points: &[Point]) -> Option<Found<Sets>> {
    infer::sets(&borrowed(&conflicts(machine, points)))
}

fn borrowed(lists: &[(f64, Vec<(f64, Interval)>)]) -> Vec<(f64, &Curve)> {
    lists.iter().map(|(distance, times)| (*distance, times.as_slice())).collect()
}

/// Lengths of the lists whose lines lie far apart: near the possible ways of an L2, and up to twice the ways
/// of most, where every policy misses often.
const LENGTHS: [usize; 11] = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24, 32];

/// Distances in bytes at which lines fall into one set of an L2 with 256 to 4,096 sets.
const DISTANCES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

fn is_large(point: &Point) -> bool {
    point.measured().is_some_and(|measured| measured.pages.starts_with("2 MiB"))
}

/// Returns whether any of the lists lay in 2 MiB pages. `None` if no list was measured.
pub(super) fn in_large_pages(points: &[Point]) -> Option<bool> {
    let lists = points.iter().filter(|point| point.series.starts_with(FAR_APART));
    lists.filter(|point| point.measured().is_some()).map(is_large).reduce(|a, b| a || b)
}

/// Returns the times of the lists in 2 MiB pages over their length, for each distance between two lines in
/// bytes.
pub(super) fn far_lists(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let far = |point: &&Point| point.series.starts_with(FAR_APART) && is_large(point);
    let points: Vec<Point> = points.iter().filter(far).cloned().collect();
    DISTANCES
        .iter()
        .map(|&distance| {
            let times = LENGTHS.iter().filter_map(|&length| {
                let times = curve(machine, &points, &format!("{FAR_APART}{length}"));
                let (_, time) = times.into_iter().find(|(x, _)| *x == distance as f64)?;
                Some((length as f64, time))
            });
            (distance as f64, times.collect())
        })
        .collect()
}

/// Returns the sets that `lists` show, each list given by its length and time for each distance between two lines,
/// where they take longer than `limit` per step if they exceed a set of L2.
fn met(lists: &[(f64, Vec<(f64, Interval)>)], limit: f64) -> Option<Found<Sets>> {
    infer::sets_within(&borrowed(lists), limit)
}

/// The share of steps that miss L2 above which a list exceeds its sets. An L2 hit on a line that L1d has just
/// evicted takes twice as long as other L2 hits. When a list exceeds its sets of L2, all its loads miss.
const EXCEEDED: f64 = 0.75;

/// The same share where a list is at least a quarter too long for its sets: some policies lose only half of it.
const QUARTER_TOO_LONG: f64 = 0.5;

/// Returns the time per step of a list of which this share of steps misses L2.
fn missing(levels: &[Level], share: f64) -> Option<f64> {
    let [_, l2, next, ..] = levels else { return None };
    Some(l2.latency.value + share * (next.latency.value - l2.latency.value))
}

/// Infers the sets and ways of L2 from the [`far_lists`]: in 2 MiB pages the bits of a virtual address choose the
/// set. Returns `None` if the sets agree with none of the possible `sizes` of L2. A host may back a guest's large
/// pages with small pages. Then chance chooses the sets, and the lists show nothing.
///
/// A set of L1d that has as many ways as a set of L2, or more, holds every list that L2 does. Then the lists show
/// only after how many bytes the sets repeat. The ways are those of one of the sizes: at half this distance,
/// the lines of a list fall into two sets of L2, and the lists that fit there are twice as long.
pub(super) fn of_l2(
    lists: &[(f64, Vec<(f64, Interval)>)],
    levels: &[Level],
    ways_of_l1: Option<u32>,
    sizes: &[f64],
) -> Option<Found<Sets>> {
    let found = met(lists, missing(levels, EXCEEDED)?)?;
    let Sets { period, ways } = found.value;
    let Some(hidden) = ways_of_l1.filter(|of_l1| ways <= *of_l1) else {
        let agrees = sizes.is_empty() || sizes.contains(&found.value.size());
        return agrees.then_some(found);
    };
    let halves = lists.iter().find(|(distance, _)| *distance == period / 2.0);
    let limit = missing(levels, QUARTER_TOO_LONG)?;
    let both = met(core::slice::from_ref(halves?), limit)?;
    let possible = (1..=hidden).filter(|ways| sizes.contains(&(period * f64::from(*ways))));
    // One line more exceeds one of the two sets only. L1d may hold longer lists than both.
    let held = |ways: &u32| 2 * ways..=hidden.max(2 * ways + 1);
    let ways = possible.rev().find(|ways| held(ways).contains(&both.value.ways))?;
    Some(Found { value: Sets { period, ways }, confidence: found.confidence.min(both.confidence) })
}

/// Returns after how many bytes the sets of L2 repeat, if every list takes longer than L2 at this distance and at
/// greater ones that is longer than the lists that fit, whether in L1d or in L2. Where chance chooses the sets,
/// some of these lists fit.
fn meeting(
    lists: &[(f64, Vec<(f64, Interval)>)],
    levels: &[Level],
    ways_of_l1: Option<u32>,
) -> Option<f64> {
    let limit = missing(levels, EXCEEDED)?;
    let Sets { period, ways } = met(lists, limit)?.value;
    let fitting = f64::from(ways.max(ways_of_l1.unwrap_or(0)));
    let apart = lists.iter().filter(|(distance, _)| *distance >= period);
    let mut longer = apart.flat_map(|(_, times)| times).filter(|of| of.0 > fitting);
    longer.all(|(_, time)| time.middle() > limit).then_some(period)
}

/// Returns the cases that [`of_l2`] needs.
pub(super) fn far_apart(machine: &Machine) -> impl Iterator<Item = Case> {
    let seed = machine.seed;
    DISTANCES.into_iter().flat_map(move |distance| {
        LENGTHS.map(|length| {
            let walk = walk(length, distance, seed);
            Case::new(format!("{FAR_APART}{length}"), distance as f64, walk).in_large_pages()
        })
    })
}

/// Returns the set-up of a random walk over lines `distance` bytes apart.
fn walk(count: usize, distance: usize, seed: u64) -> WalkSetup {
    let layout = Layout::npad(7).spaced(distance);
    WalkSetup { layout, count, order: Order::Random { seed }, step: Step::Follow }
}

/// Infers the policies of a set of L1d from sequences of loads that tell policies apart.
pub(super) fn by_sequences(
    machine: &Machine,
    points: &[Point],
) -> Option<Found<Vec<&'static str>>> {
    let of = |unit| replacement::replaced(&Evidence::new(machine, points, unit)).ok();
    of(Unit::CoreCycles).or_else(|| of(Unit::Nanoseconds))
}

/// The policies that lists can tell apart. A list longer than the ways misses on every load under LRU,
/// tree-PLRU and round robin alike.
const POLICIES: [(&str, Replacement); 3] = [
    ("LRU, tree-PLRU or round robin", Replacement::Lru),
    ("bit-PLRU", Replacement::BitPlru),
    ("random", Replacement::Random { seed: 1 }),
];

/// Infers the policy of L1d from lists that are longer than a set has ways.
pub(super) fn by_lists(
    machine: &Machine,
    points: &[Point],
    l1: Sets,
) -> Option<Found<&'static str>> {
    let all = conflicts(machine, points);
    let (_, times) = all.into_iter().find(|(distance, _)| *distance == l1.period)?;
    by_times(&times, l1.ways)
}

/// Infers a policy from the times of lists in one set of `ways` ways. The set holds the first of these lists.
pub(super) fn by_times(times: &Curve, ways: u32) -> Option<Found<&'static str>> {
    let longest = times.last()?.0 as u32;
    if longest > LONGEST {
        return None;
    }
    let known: Vec<(&'static str, Vec<(u32, f64)>)> = POLICIES
        .into_iter()
        .filter_map(|(name, policy)| Some((name, simulated(policy, ways, longest)?)))
        .collect();
    infer::policy(times, ways, &known)
}

/// Returns the misses of a policy, by its name, as [`by_times`] computes them.
#[cfg(test)]
pub(super) fn misses(name: &str, ways: u32, longest: u32) -> Option<Vec<(u32, f64)>> {
    let (_, policy) = POLICIES.into_iter().find(|(other, _)| *other == name)?;
    simulated(policy, ways, longest)
}

/// Number of rounds over a list: rounds to warm up, and rounds whose misses are counted.
const ROUNDS: [u64; 2] = [50, 200];

/// The longest list that is simulated, in lines: four times the ways of the largest known set.
const LONGEST: u32 = 256;

/// Simulates lists of `ways + 1` to `longest` lines in one set. Returns the share of misses for each length.
fn simulated(policy: Replacement, ways: u32, longest: u32) -> Option<Vec<(u32, f64)>> {
    // The cache has one set, so that all lines conflict.
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

/// A series that belongs to no experiment: walks over a number of lines, all at the same offset of their
/// pages.
const ONE_OFFSET: &str = "lines at one offset of n pages of 4 KiB";

/// Bytes of a page. Only the offset in a page is equal in virtual and physical addresses.
const PAGE: f64 = 4096.0;

/// Number of lines of those walks: up to twice the lines that a 4 MiB L2 holds at one offset without a hash.
const WALKS: [usize; 3] = [512, 1024, 2048];

/// Returns the cases that [`replaced`] needs besides those of [`far_apart`].
pub(super) fn cases(machine: &Machine) -> impl Iterator<Item = Case> {
    let seed = machine.seed;
    WALKS.into_iter().map(move |count| {
        Case::new(ONE_OFFSET, count as f64, walk(count, PAGE as usize, seed)).in_large_pages()
    })
}

/// Infers the replacement policy of L2, or why it cannot be inferred. `None` if too little was measured.
pub(super) fn replaced(
    machine: &Machine,
    points: &[Point],
    levels: &[Level],
    size: Option<&Found<f64>>,
    (l1, l2): (Option<&Found<Sets>>, Option<&Found<Sets>>),
) -> Option<Result<Found<&'static str>, Reason>> {
    let [_, near, far, ..] = levels else { return None };
    let latencies = [near.latency.value, far.latency.value];
    if !in_large_pages(points)? {
        return Some(Err(Reason::SmallPages));
    }
    let lists = far_lists(machine, points);
    if let Some(sets) = l2 {
        let (_, lists) = lists.into_iter().find(|(at, _)| *at == sets.value.period)?;
        let times = behind_l1(&lists, latencies[0], sets.value.ways, l1?.value.ways);
        return by_times(&times, sets.value.ways).map(Ok);
    }
    if let Some(period) = meeting(&lists, levels, l1.map(|l1| l1.value.ways)) {
        return Some(Err(Reason::Unsized { period }));
    }
    unseen(&curve(machine, points, ONE_OFFSET), size?.value, latencies).map(Err)
}

/// Returns the times of the lists that exceed a set of L1d and a set of L2, after a list of `ways` lines with
/// the latency of L2. That list stands for the lists that L2 holds.
fn behind_l1(
    lists: &[(f64, Interval)],
    latency: f64,
    ways: u32,
    ways_of_l1: u32,
) -> Vec<(f64, Interval)> {
    let longer = |(length, _): &&(f64, Interval)| *length > f64::from(ways.max(ways_of_l1));
    let held = (f64::from(ways), Interval::exact(latency));
    [held].into_iter().chain(lists.iter().filter(longer).copied()).collect()
}

/// Returns why lines at the period of the sets do not conflict in an L2 of `size` bytes. Without a hash, L2
/// has room for one line per 4 KiB at one page offset. If L2 keeps twice as many lines, more address bits
/// than the offset choose the set.
fn unseen(walks: &[(f64, Interval)], size: f64, [near, far]: [f64; 2]) -> Option<Reason> {
    let room = size / PAGE;
    let (lines, time) = walks.iter().find(|(lines, _)| *lines >= 2.0 * room)?;
    let (lines, half) = (*lines, (near + far) / 2.0);
    if time.hi < half {
        return Some(Reason::Hashed { lines, room });
    }
    (time.lo > half).then_some(Reason::Scattered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Hierarchy;

    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;

    /// Core cycles of a step in each level of a planted machine.
    const COSTS: [f64; 3] = [4.0, 14.0, 53.0];

    fn levels() -> Vec<Level> {
        let level = |value| Level { latency: Found { value, confidence: 1.0 }, ends: None };
        COSTS.map(level).to_vec()
    }

    type Lists = Vec<(f64, Vec<(f64, Interval)>)>;

    /// Returns the times of the lists as a simulated L1d and L2 serve them.
    fn planted(caches: &str) -> Lists {
        let time = |distance: usize, length: usize| {
            let mut caches = Hierarchy::new(&caches.parse().unwrap()).unwrap();
            let round = (0..length).map(|element| Reference::load((element * distance) as u64, 8));
            let rounds: Vec<Reference> = (0..20).flat_map(|_| round.clone()).collect();
            caches.references(&rounds);
            caches.forget_counts();
            caches.references(&rounds);
            let [l1, l2] = [0, 1].map(|level| caches.counters(level).reads);
            let served = [l1.hits, l2.hits, l2.misses].map(|steps| steps as f64);
            let cycles: f64 = served.iter().zip(COSTS).map(|(steps, cost)| steps * cost).sum();
            (length as f64, Interval::exact(cycles / l1.total() as f64))
        };
        let lists =
            |distance| (distance as f64, LENGTHS.map(|length| time(distance, length)).to_vec());
        DISTANCES.map(lists).to_vec()
    }

    /// Skylake, Ice Lake and Alder Lake have fewer ways in L2 than in L1d, a Zen as many, and servers more. Each of
    /// these sizes ends between the same rungs of a ladder as another, if the sets are filled evenly.
    #[test]
    fn sets_of_l2_are_found_behind_an_l1d_of_any_ways() {
        for (caches, of_l1, sizes, period, ways) in [
            ("L1d=32K/8,L2=256K/4", 8, [256.0, 320.0], 64.0, 4),
            ("L1d=32K/8:plru,L2=256K/4:QLRU_H00_M1_R0_U1", 8, [256.0, 320.0], 64.0, 4),
            ("L1d=48K/12,L2=512K/8", 12, [512.0, 640.0], 64.0, 8),
            ("L1d=48K/12,L2=1280K/10", 12, [1024.0, 1280.0], 128.0, 10),
            ("L1d=32K/8,L2=1M/8", 8, [1024.0, 1280.0], 128.0, 8),
            ("L1d=48K/12,L2=1280K/20", 12, [1024.0, 1280.0], 64.0, 20),
            ("L1d=48K/12,L2=2M/16", 12, [2048.0, 2560.0], 128.0, 16),
        ] {
            let lists = planted(caches);
            let found = of_l2(&lists, &levels(), Some(of_l1), &sizes.map(|kib| kib * KIB));
            let period = period * KIB;
            assert_eq!(found.map(|of| of.value), Some(Sets { period, ways }), "{caches}");
            // Of another size, the lists still meet in sets.
            let (sizes, of_l1) = ([768.0 * KIB], Some(of_l1));
            assert_eq!(of_l2(&lists, &levels(), of_l1, &sizes), None, "{caches}");
            assert_eq!(meeting(&lists, &levels(), of_l1), Some(period), "{caches}");
        }
    }

    /// On a guest whose 2 MiB pages were not backed by large pages, lists of lines 16 KiB apart once gave 12
    /// ways.
    #[test]
    fn lists_that_chance_puts_into_one_set_are_no_sets() {
        let mut lists = planted("L1d=48K/12,L2=16M/16");
        for (length, time) in &mut lists[0].1 {
            let cost = if *length > 12.0 { COSTS[2] } else { COSTS[0] };
            *time = Interval::exact(cost);
        }
        let limit = missing(&levels(), EXCEEDED).unwrap();
        let period = 16.0 * KIB;
        assert_eq!(met(&lists, limit).unwrap().value, Sets { period, ways: 12 });
        assert_eq!(of_l2(&lists, &levels(), Some(12), &[MIB]), None);
        assert_eq!(of_l2(&lists, &levels(), Some(8), &[MIB]), None);
        for (_, times) in &mut lists[1..] {
            times.iter_mut().for_each(|(_, time)| *time = Interval::exact(COSTS[1]));
        }
        assert_eq!(meeting(&lists, &levels(), Some(12)), None);
    }

    /// On a Zen 4 whose L2 takes 14 core cycles and whose L3 takes 53, loads of 512 lines at one offset took
    /// 21.
    #[test]
    fn a_hash_shows_where_too_many_lines_of_one_offset_stay() {
        let of = |time: Interval| unseen(&[(512.0, time)], MIB, [14.0, 53.0]);
        let hashed = Reason::Hashed { lines: 512.0, room: 256.0 };
        assert_eq!(of(Interval::new(21.0, 23.0)), Some(hashed));
        assert_eq!(of(Interval::new(52.0, 60.0)), Some(Reason::Scattered));
        assert_eq!(of(Interval::new(30.0, 40.0)), None);
        // A 2 MiB L2 has room for 512 lines.
        let walks = [(512.0, Interval::exact(15.0)), (1024.0, Interval::exact(60.0))];
        assert_eq!(unseen(&walks, 2.0 * MIB, [14.0, 53.0]), Some(Reason::Scattered));
        assert_eq!(unseen(&walks, 4.0 * MIB, [14.0, 53.0]), None);
    }

    /// Lists in a set of 8 ways behind an L1d of 8 ways. Lists that L1d holds show nothing about L2.
    #[test]
    fn the_policy_of_l2_comes_out_of_lists_that_l1_holds_none_of() {
        let lists = |share: fn(f64) -> f64| -> Vec<(f64, Interval)> {
            let hits = [4.0, 6.0, 8.0].map(|length| (length, Interval::exact(4.0)));
            let longer = [9.0, 10.0, 12.0, 16.0, 17.0, 20.0, 24.0, 32.0];
            let longer =
                longer.map(|length| (length, Interval::exact(14.0 + 39.0 * share(length))));
            hits.into_iter().chain(longer).collect()
        };
        let found = |lists: &[(f64, Interval)]| {
            by_times(&behind_l1(lists, 14.0, 8, 8), 8).map(|found| found.value)
        };
        let lru = lists(|_| 1.0);
        assert_eq!(found(&lru), Some("LRU, tree-PLRU or round robin"));
        let random: Vec<(u32, f64)> = misses("random", 8, 32).unwrap();
        let random: Vec<(f64, Interval)> = random
            .into_iter()
            .map(|(length, share)| (f64::from(length), Interval::exact(14.0 + 39.0 * share)))
            .collect();
        assert_eq!(found(&random), Some("random"));
        // An L1d of 12 ways holds a list of 12 lines.
        let first = behind_l1(&lru, 14.0, 10, 12)[1].0;
        assert_eq!(first, 16.0);
    }
}
