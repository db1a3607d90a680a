//! Infers sets, ways and replacement policies of L1d and L2 from lists whose lines conflict in a set, or says
//! why they cannot be inferred.

use super::{Reason, curve};
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::hierarchy::replacement;
use crate::experiment::{Case, Evidence, Machine, Point, State, Unit};
use crate::infer::{self, Curve, Found, Level, Sets};
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
    let all = conflicts(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets(&borrowed)
}

/// Lengths of the lists whose lines lie far apart: near the possible ways of an L2, and up to twice the ways
/// of most, where every policy misses often.
const LENGTHS: [usize; 11] = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24, 32];

/// Distances in bytes at which lines fall into one set of an L2 with 256 to 4,096 sets.
const DISTANCES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

fn is_large(point: &Point) -> bool {
    matches!(&point.state, State::Measured(measured) if measured.pages.starts_with("2 MiB"))
}

/// Returns whether any of the lists lay in 2 MiB pages. `None` if no list was measured.
pub(super) fn in_large_pages(points: &[Point]) -> Option<bool> {
    let mut lists = points.iter().filter(|point| {
        point.series.starts_with(FAR_APART) && matches!(point.state, State::Measured(_))
    });
    let first = lists.next()?;
    Some(is_large(first) || lists.any(is_large))
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
                let series = format!("{FAR_APART}{length}");
                let times = curve(machine, &points, &series);
                let (_, time) = times.into_iter().find(|(x, _)| *x == distance as f64)?;
                Some((length as f64, time))
            });
            (distance as f64, times.collect())
        })
        .collect()
}

/// Infers the sets and ways of L2 from lists that exceed a set. Uses only lists in 2 MiB pages, where the
/// bits of a virtual address choose the set.
pub(super) fn of_l2(machine: &Machine, points: &[Point], levels: &[Level]) -> Option<Found<Sets>> {
    let [_, l2, next, ..] = levels else {
        return None;
    };
    // Three quarters of the way from the latency of L2 to that of the next level. An L2 hit on a line that
    // L1d has just evicted takes twice as long as other L2 hits. When a list exceeds its sets of L2, all its
    // loads miss.
    let limit = (l2.latency.value + 3.0 * next.latency.value) / 4.0;
    let all = far_lists(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets_within(&borrowed, limit)
}

/// Returns the sets if they agree with the size that the ladders found, or if the ladders found none. A host
/// may back a guest's large pages with small pages. Then chance chooses the sets, and the lists show nothing.
pub(super) fn of_size(sets: Option<Found<Sets>>, size: Option<&Found<f64>>) -> Option<Found<Sets>> {
    sets.filter(|sets| size.is_none_or(|size| sets.value.size() == size.value))
}

/// Returns the cases that [`of_l2`] needs.
pub(super) fn far_apart(machine: &Machine) -> impl Iterator<Item = Case> {
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

/// Infers the policies of a set of L1d from sequences of loads that tell policies apart.
pub(super) fn by_sequences(
    machine: &Machine,
    points: &[Point],
) -> Option<Found<Vec<&'static str>>> {
    let of = |unit| {
        let evidence = Evidence::new(machine, points, unit);
        replacement::replaced(&evidence).ok()
    };
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
    let (_, times) = all
        .into_iter()
        .find(|(distance, _)| *distance == l1.period)?;
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
        let setup = WalkSetup {
            layout: Layout::npad(7).spaced(PAGE as usize),
            count,
            order: Order::Random { seed },
            step: crate::kernel::Step::Follow,
        };
        Case::new(ONE_OFFSET, count as f64, setup).in_large_pages()
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
    let [_, near, far, ..] = levels else {
        return None;
    };
    let latencies = [near.latency.value, far.latency.value];
    if !in_large_pages(points)? {
        return Some(Err(Reason::SmallPages));
    }
    if let Some(sets) = l2 {
        let lists = far_lists(machine, points);
        let (_, lists) = lists.into_iter().find(|(at, _)| *at == sets.value.period)?;
        let times = behind_l1(&lists, latencies[0], sets.value.ways, l1?.value.ways);
        return by_times(&times, sets.value.ways).map(Ok);
    }
    let walks = curve(machine, points, ONE_OFFSET);
    unseen(&walks, size?.value, latencies).map(Err)
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
    [held]
        .into_iter()
        .chain(lists.iter().filter(longer).copied())
        .collect()
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

    /// On a guest whose 2 MiB pages were not backed by large pages, lists of lines 16 KiB apart once gave 12
    /// ways.
    #[test]
    fn sets_that_come_to_another_size_than_the_ladders_are_none() {
        let of = |ways| {
            let period = 131_072.0;
            Some(Found {
                value: Sets { period, ways },
                confidence: 0.9,
            })
        };
        let size = |value| {
            let confidence = 1.0;
            Found { value, confidence }
        };
        let mebibyte = size(1_048_576.0);
        assert_eq!(of_size(of(8), Some(&mebibyte)), of(8));
        assert_eq!(of_size(of(12), Some(&mebibyte)), None);
        assert_eq!(of_size(of(12), None), of(12));
        assert_eq!(of_size(None, Some(&mebibyte)), None);
    }

    const MIB: f64 = 1_048_576.0;

    /// On a Zen 4 whose L2 takes 14 core cycles and whose L3 takes 53, loads of 512 lines at one offset took
    /// 21.
    #[test]
    fn a_hash_shows_where_too_many_lines_of_one_offset_stay() {
        let of = |time: Interval| unseen(&[(512.0, time)], MIB, [14.0, 53.0]);
        let hashed = Reason::Hashed {
            lines: 512.0,
            room: 256.0,
        };
        assert_eq!(of(Interval::new(21.0, 23.0)), Some(hashed));
        assert_eq!(of(Interval::new(52.0, 60.0)), Some(Reason::Scattered));
        assert_eq!(of(Interval::new(30.0, 40.0)), None);
        // A 2 MiB L2 has room for 512 lines.
        let walks = [
            (512.0, Interval::exact(15.0)),
            (1024.0, Interval::exact(60.0)),
        ];
        assert_eq!(
            unseen(&walks, 2.0 * MIB, [14.0, 53.0]),
            Some(Reason::Scattered)
        );
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
