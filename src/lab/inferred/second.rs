//! Which line a set of L2 evicts, or why that cannot be told.

use super::policy;
use super::sets::{far_lists, in_large_pages};
use super::{Reason, curve};
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Case, Machine, Point};
use crate::infer::{Found, Level, Sets};
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

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
        return policy::by_times(&times, sets.value.ways).map(Ok);
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
            policy::by_times(&behind_l1(lists, 14.0, 8, 8), 8).map(|found| found.value)
        };
        let lru = lists(|_| 1.0);
        assert_eq!(found(&lru), Some("LRU, tree-PLRU or round robin"));
        let random: Vec<(u32, f64)> = policy::misses("random", 8, 32).unwrap();
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
