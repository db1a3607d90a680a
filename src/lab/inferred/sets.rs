//! Sets and ways, from lists of lines that meet in a set, and which line a set of L1d and of L2 evicts, or
//! why that cannot be told.

use super::{Reason, curve};
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::hierarchy::replacement;
use crate::experiment::{Case, Evidence, Machine, Point, State, Unit};
use crate::infer::{self, Curve, Found, Level, Sets};
use crate::lab::rank::grouped;
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use crate::stats::Interval;

/// A series that no experiment has: lists of so many lines over the distance between two.
const FAR_APART: &str = "lines of a list, n bytes apart: ";

/// Figure 6.5 turned round: the lengths of the lists are the labels of its series.
pub(super) fn conflicts(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let mut lengths: Vec<u32> = points
        .iter()
        .filter_map(|point| point.series.parse().ok())
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    grouped(lengths.into_iter().flat_map(|length| {
        let curve = curve(machine, points, &length.to_string()).into_iter();
        curve.map(move |(lines, time)| (lines * LINE as f64, (f64::from(length), time)))
    }))
}

/// Those of L1d.
pub(super) fn of_l1(machine: &Machine, points: &[Point]) -> Option<Found<Sets>> {
    let all = conflicts(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets(&borrowed)
}

/// Lengths of lists whose lines lie far apart: about the ways that an L2 can have, and twice those of most,
/// which no policy keeps much of.
const LENGTHS: [usize; 11] = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24, 32];

/// Distances, in bytes, at which the lines of an L2 meet: of 256 sets to 4,096.
const DISTANCES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

fn is_large(point: &Point) -> bool {
    matches!(&point.state, State::Measured(measured) if measured.pages.starts_with("2 MiB"))
}

/// Whether any of the lists lay in 2 MiB pages. `None` if none was measured.
pub(super) fn in_large_pages(points: &[Point]) -> Option<bool> {
    let mut lists = points.iter().filter(|point| {
        point.series.starts_with(FAR_APART) && matches!(point.state, State::Measured(_))
    });
    let first = lists.next()?;
    Some(is_large(first) || lists.any(is_large))
}

/// Times of lists by their length, for each distance between two lines in bytes: those in 2 MiB pages.
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

/// Those of L2, from lists that leave it: only where 2 MiB pages let addresses choose the sets.
pub(super) fn of_l2(machine: &Machine, points: &[Point], levels: &[Level]) -> Option<Found<Sets>> {
    let [_, l2, next, ..] = levels else {
        return None;
    };
    // Three quarters of the way to the next level: a line that L1d gave up right before takes twice
    // as long as others of L2, and all of a list miss where it leaves the sets of L2.
    let limit = (l2.latency.value + 3.0 * next.latency.value) / 4.0;
    let all = far_lists(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets_within(&borrowed, limit)
}

/// What of them comes to the size that the ladders found, if they found one: a host may back a guest's
/// large pages with small ones, so that chance chooses the sets, and lists tell nothing.
pub(super) fn of_size(sets: Option<Found<Sets>>, size: Option<&Found<f64>>) -> Option<Found<Sets>> {
    sets.filter(|sets| size.is_none_or(|size| sets.value.size() == size.value))
}

/// The cases of [`of_l2`].
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

/// By sequences that were chosen to tell policies apart.
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

/// The policies that are told apart: lists that are walked in turn lose every line under LRU, and
/// under tree-PLRU and round robin, too.
const POLICIES: [(&str, Replacement); 3] = [
    ("LRU, tree-PLRU or round robin", Replacement::Lru),
    ("bit-PLRU", Replacement::BitPlru),
    ("random", Replacement::Random { seed: 1 }),
];

/// By lists that are longer than a set has ways.
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

/// By the times of lists in one set of so many ways, the first of which it holds.
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

/// The misses of a policy by its name, as [`by_times`] has them.
#[cfg(test)]
pub(super) fn misses(name: &str, ways: u32, longest: u32) -> Option<Vec<(u32, f64)>> {
    let (_, policy) = POLICIES.into_iter().find(|(other, _)| *other == name)?;
    simulated(policy, ways, longest)
}

/// Rounds over a list before its misses count, and those that count.
const ROUNDS: [u64; 2] = [50, 200];

/// The longest list that is simulated: four times the ways of the largest sets that are known.
const LONGEST: u32 = 256;

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

/// A series that no experiment has: walks over so many lines, all at the same offset of a page.
const ONE_OFFSET: &str = "lines at one offset of n pages of 4 KiB";

/// Bytes of such a page: its offset alone is the same in a program's addresses and in memory's.
const PAGE: f64 = 4096.0;

/// Lines of those walks: for each L2 of up to 4 MiB, at least twice what fits without a hash.
const WALKS: [usize; 3] = [512, 1024, 2048];

/// The cases of [`replaced`], beside the lists of lines that lie far apart.
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

/// What L2 replaces, or why that cannot be told. `None` if too little was measured.
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

/// Times of the lists that L1d holds none of, behind one that stands for a list that L2 holds.
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

/// Why lines that lie as far apart as sets repeat do not meet in a set of an L2 of `size` bytes: if twice
/// as many lines stay in it as have room at one offset of their pages, more of their addresses than
/// the offset chooses the set.
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

    /// On a guest whose pages of 2 MiB are none, lists of lines 16 KiB apart once came to 12 ways.
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

    /// A Zen 4 whose L2 takes 14 core cycles and whose L3 53: 512 lines at one offset took 21.
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
        // 512 lines have room in 2 MiB.
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

    /// Lists in a set of 8 ways behind an L1d of 8: those that it holds tell nothing of L2.
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
        // Lists of 12 lines lie in an L1d of 12 ways.
        let first = behind_l1(&lru, 14.0, 10, 12)[1].0;
        assert_eq!(first, 16.0);
    }
}
