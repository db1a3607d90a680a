//! What a set of a cache tells. Ways and sets, from lists whose elements lie a fixed distance apart:
//! Drepper's Figure 6.5. Which line a full set evicts, from lists that are a little too long for it, and
//! from sequences of accesses that policies serve differently: as A. Abel and J. Reineke infer it from
//! counted misses ("Reverse Engineering of Cache Replacement Policies in Intel Microprocessors and Their
//! Evaluation", ISPASS 2014), here from times.

use alloc::vec::Vec;

use super::{Curve, Found, decide};
use crate::stats::Interval;

/// Times of short lists: for each distance between two elements in bytes, the time of a step over
/// the number of elements.
pub type Conflicts<'a> = &'a [(f64, &'a Curve)];

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sets {
    /// Bytes after which an address falls into the same set: sets x line.
    pub period: f64,
    /// Lines of a set.
    pub ways: u32,
}

impl Sets {
    /// Bytes of the cache.
    pub fn size(&self) -> f64 {
        self.period * f64::from(self.ways)
    }
}

/// What a step costs more before elements count as in conflict.
const DEARER: f64 = 1.25;

/// The longest list, up to which all are as fast as the shortest. `None` if none is slower.
fn fits(points: &[(f64, f64)]) -> Option<u32> {
    let first = points.first()?.1;
    let at = points.iter().position(|(_, time)| *time > first * DEARER)?;
    let (length, _) = points.get(at.checked_sub(1)?)?;
    Some(*length as u32)
}

/// The longest list, up to which all cost less than `limit` a step. `None` if none costs more.
fn fits_below(points: &[(f64, f64)], limit: f64) -> Option<u32> {
    let at = points.iter().position(|(_, time)| *time > limit)?;
    let (length, _) = points.get(at.checked_sub(1)?)?;
    Some(*length as u32)
}

/// The sets of the nearest cache: the shortest lists that no longer fit are those whose elements
/// all fall into one set, and the smallest distance at which that is so is how far sets repeat.
/// `None` if no list is in conflict.
pub fn sets(conflicts: Conflicts<'_>) -> Option<Found<Sets>> {
    sets_by(conflicts, fits)
}

/// The sets of a cache behind the nearest, likewise: lists fit in it as long as a step costs less
/// than `limit`, between its own latency and that of what lies behind. Where lists of some lengths
/// only were measured, the ways are the longest of these that fits.
pub fn sets_within(conflicts: Conflicts<'_>, limit: f64) -> Option<Found<Sets>> {
    sets_by(conflicts, |points| fits_below(points, limit))
}

fn sets_by(
    conflicts: Conflicts<'_>,
    fits: impl Fn(&[(f64, f64)]) -> Option<u32>,
) -> Option<Found<Sets>> {
    let each: Vec<(f64, Found<u32>)> = conflicts
        .iter()
        .filter_map(|(distance, times)| Some((*distance, decide(times, &fits)?)))
        .collect();
    let ways = each.iter().map(|(_, longest)| longest.value).min()?;
    let shortest = each.iter().filter(|(_, longest)| longest.value == ways);
    let (period, found) = shortest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Found {
        value: Sets {
            period: *period,
            ways,
        },
        confidence: found.confidence,
    })
}

/// The share of steps that miss, list by list, from the times of lists of growing length that all
/// fall into one set of `ways`: the shortest hit always, and the longest, four times the ways or
/// so, miss almost always whatever the policy. Empty without both.
pub fn lost(points: &[(f64, f64)], ways: u32) -> Vec<(u32, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let (hit, miss) = (first.1, last.1);
    if last.0 < 2.0 * f64::from(ways) || miss <= hit {
        return Vec::new();
    }
    let longer = points
        .iter()
        .filter(|(length, _)| *length > f64::from(ways));
    longer
        .map(|(length, time)| {
            // A miss of a short list can cost more than one of a long one, and no more than all
            // can miss.
            let share = (time - hit) / (miss - hit);
            (*length as u32, share.clamp(0.0, 1.0))
        })
        .collect()
}

/// The policy that explains best what lists of growing length lose: the one of `known`, each with
/// the share of misses by length, that lies nearest in the mean square. `None` without curves.
pub fn policy<'a>(
    times: &Curve,
    ways: u32,
    known: &[(&'a str, Vec<(u32, f64)>)],
) -> Option<Found<&'a str>> {
    decide(times, |points| {
        let lost = lost(points, ways);
        let far = |of: &[(u32, f64)]| {
            let common = lost.iter().filter_map(|(length, share)| {
                let (_, other) = of.iter().find(|(other, _)| other == length)?;
                Some((share - other) * (share - other))
            });
            let squares: Vec<f64> = common.collect();
            (!squares.is_empty()).then(|| squares.iter().sum::<f64>() / squares.len() as f64)
        };
        let distances = known
            .iter()
            .filter_map(|(name, of)| Some((*name, far(of)?)));
        let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(nearest.0)
    })
}

/// A policy, and how many accesses of a round it has miss in each of some sequences: one number for
/// every state that it may settle in, of which some policies have several.
#[derive(Clone, Debug, PartialEq)]
pub struct Known<'a> {
    /// Its name.
    pub name: &'a str,
    /// Misses a round, sequence by sequence.
    pub misses: Vec<Vec<f64>>,
}

/// How far the misses of a round may well lie from those of a policy, as a share of them: what a
/// miss costs depends a little on what else is under way.
const COST: f64 = 0.06;

/// Misses of a round that may well be somebody else's doing.
const FOREIGN: f64 = 0.4;

/// The most that a sequence counts against a policy, in these distances: something else may have
/// been at work in one of them.
const MOST: f64 = 3.0;

/// What a miss of these sequences may cost, over the cost that it was taken for: the same for all of
/// them.
const SCALES: [f64; 9] = [0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25];

/// The mean square distance up to which a policy explains what was measured: one sequence that
/// counts the most, of eight, and the others near.
const ENOUGH: f64 = 1.5;

/// What the next policy may lie further away and be as good.
const AS_GOOD: f64 = 0.3;

/// How far a policy lies from what was measured, if a miss costs the same in all sequences: the
/// mean square over them.
fn far(known: &Known<'_>, missed: &[(f64, f64)]) -> f64 {
    let with = |scale: f64| {
        let sequences = known.misses.iter().zip(missed);
        let squares = sequences.map(|(states, (_, missed))| {
            let distance =
                |misses: &f64| (missed / scale - misses).abs() / (COST * misses + FOREIGN);
            let nearest = states.iter().map(distance).fold(MOST, f64::min);
            nearest * nearest
        });
        squares.sum::<f64>() / missed.len() as f64
    };
    SCALES.into_iter().map(with).fold(f64::INFINITY, f64::min)
}

/// The names of those of `known` that explain best how many accesses of a round missed in each
/// sequence, all that do so about equally well; empty if none of them explains it. `None` without
/// sequences.
pub fn replacement<'a>(missed: &[Interval], known: &[Known<'a>]) -> Option<Found<Vec<&'a str>>> {
    let curve: Vec<(f64, Interval)> = missed
        .iter()
        .enumerate()
        .map(|(index, missed)| (index as f64, *missed))
        .collect();
    decide(&curve, |points| {
        if points.is_empty() {
            return None;
        }
        let distances: Vec<f64> = known.iter().map(|known| far(known, points)).collect();
        let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
        if nearest > ENOUGH {
            return Some(Vec::new());
        }
        let named = known.iter().zip(distances);
        let as_good = named.filter(|(_, distance)| *distance <= nearest + AS_GOOD);
        Some(as_good.map(|(known, _)| known.name).collect())
    })
}
