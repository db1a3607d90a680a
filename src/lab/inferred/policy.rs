//! Which line a set evicts, and that of L1d in particular.

use super::sets::conflicts;
use crate::experiment::topics::hierarchy::replacement;
use crate::experiment::{Evidence, Machine, Point, Unit};
use crate::infer::{self, Curve, Found, Sets};
use crate::mem::LINE;
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};

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
