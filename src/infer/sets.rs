//! Properties of the sets of a cache. Ways and sets, from lists whose elements lie a fixed distance
//! apart (Drepper's Figure 6.5). The victim in a full set, from lists that are slightly too long for the
//! set, and from access sequences that policies serve differently. A. Abel and J. Reineke infer it so
//! from counted misses ("Reverse Engineering of Cache Replacement Policies in Intel Microprocessors and
//! Their Evaluation", ISPASS 2014); here it is inferred from times.

use alloc::vec::Vec;

use super::{Curve, Found, decide};
use crate::stats::Interval;

/// Times of short lists: for each distance between two elements in bytes, the time per step over the
/// number of elements.
pub type Conflicts<'a> = &'a [(f64, &'a Curve)];

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sets {
    /// Bytes after which addresses fall into the same set again: sets x line.
    pub period: f64,
    /// Lines per set.
    pub ways: u32,
}

impl Sets {
    /// Returns the bytes of the cache.
    pub fn size(&self) -> f64 {
        self.period * f64::from(self.ways)
    }
}

/// The factor by which a step must cost more before elements count as in conflict.
const DEARER: f64 = 1.25;

/// Returns the length of the longest list up to which lists fit: the length that best divides them into fast
/// ones and ones for which `is_slow` holds. A list that another program disturbed is one list on the wrong
/// side, and ends nothing. Returns `None` if no length divides them better than none at all.
fn fits(points: &[(f64, f64)], is_slow: impl Fn(f64) -> bool) -> Option<u32> {
    let slow: Vec<bool> = points.iter().map(|(_, time)| is_slow(*time)).collect();
    // If no list fits, the fast ones are on the wrong side.
    let mut wrong = slow.iter().filter(|slow| !**slow).count();
    let mut best = None;
    for (fitting, slow) in (1..).zip(&slow) {
        wrong = if *slow { wrong + 1 } else { wrong - 1 };
        // The longest of equally good lengths.
        if best.is_none_or(|(fewest, _)| wrong <= fewest) {
            best = Some((wrong, fitting));
        }
    }
    let (_, fitting): (_, usize) = best?;
    (fitting < points.len()).then(|| points[fitting - 1].0 as u32)
}

/// Returns the sets of the nearest cache. The shortest lists that no longer fit are those whose elements
/// all fall into one set, and the smallest distance of such lists is the period of the sets. Returns
/// `None` if no list is in conflict.
pub fn sets(conflicts: Conflicts<'_>) -> Option<Found<Sets>> {
    sets_by(conflicts, |points| {
        let limit = points.first()?.1 * DEARER;
        fits(points, |time| time > limit)
    })
}

/// Returns the sets of a cache beyond the nearest, in the same way as [`sets`]. Lists fit as long as a
/// step costs at most `limit`, which lies between the latency of the cache and that of the next level.
/// If only some lengths were measured, the ways are the longest measured length that fits.
pub fn sets_within(conflicts: Conflicts<'_>, limit: f64) -> Option<Found<Sets>> {
    sets_by(conflicts, |points| fits(points, |time| time > limit))
}

fn sets_by(
    conflicts: Conflicts<'_>,
    longest: impl Fn(&[(f64, f64)]) -> Option<u32>,
) -> Option<Found<Sets>> {
    let found = |(distance, times): &(f64, &Curve)| Some((*distance, decide(times, &longest)?));
    let each: Vec<(f64, Found<u32>)> = conflicts.iter().filter_map(found).collect();
    let ways = each.iter().map(|(_, longest)| longest.value).min()?;
    let shortest = each.iter().filter(|(_, longest)| longest.value == ways);
    let (period, found) = shortest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Found { value: Sets { period: *period, ways }, confidence: found.confidence })
}

/// Returns the share of steps that miss, per list longer than the ways, from the times of lists of
/// growing length that all fall into one set of `ways` ways. The shortest list always hits. The longest,
/// of about four times the ways, almost always misses whatever the policy. Returns an empty list if the
/// longest list is shorter than twice the ways or no slower than the shortest.
pub fn lost(points: &[(f64, f64)], ways: u32) -> Vec<(u32, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let (hit, miss) = (first.1, last.1);
    if last.0 < 2.0 * f64::from(ways) || miss <= hit {
        return Vec::new();
    }
    let longer = points.iter().filter(|(length, _)| *length > f64::from(ways));
    longer
        .map(|(length, time)| {
            // A miss of a short list can cost more than a miss of a long list, but the share cannot
            // exceed 1.
            let share = (time - hit) / (miss - hit);
            (*length as u32, share.clamp(0.0, 1.0))
        })
        .collect()
}

/// Returns the policy that best explains the misses of lists of growing length: the policy in `known`,
/// each given with its share of misses per length, with the smallest mean square difference. Returns
/// `None` without curves.
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
        let distances = known.iter().filter_map(|(name, of)| Some((*name, far(of)?)));
        let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(nearest.0)
    })
}

/// A policy, and the number of misses per round that it has in each of several sequences: one number per
/// state that the policy may settle in. Some policies have several such states.
#[derive(Clone, Debug, PartialEq)]
pub struct Known<'a> {
    /// The name of the policy.
    pub name: &'a str,
    /// Misses per round, sequence by sequence.
    pub misses: Vec<Vec<f64>>,
}

/// The expected relative error of the misses per round: the cost of a miss depends slightly on what else
/// is in flight.
const COST: f64 = 0.06;

/// Misses per round that other users of the cache may cause.
const FOREIGN: f64 = 0.4;

/// The largest distance that a sequence contributes, in units of the expected error: a sequence may have
/// been disturbed.
const MOST: f64 = 3.0;

/// Factors on the assumed cost of a miss, which is the same for all these sequences.
const SCALES: [f64; 9] = [0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25];

/// The mean square distance up to which a policy explains the measurement: one of eight sequences with
/// the largest distance, and the others near.
const ENOUGH: f64 = 1.5;

/// The additional distance up to which another policy counts as equally good.
const AS_GOOD: f64 = 0.3;

/// Returns the distance of a policy from the measurement, if a miss costs the same in all sequences: the
/// mean square over the sequences.
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

/// Returns the names of the policies in `known` that best explain how many accesses per round missed in
/// each sequence: all that do so about equally well. Empty if no policy explains the misses. Returns
/// `None` without sequences.
pub fn replacement<'a>(missed: &[Interval], known: &[Known<'a>]) -> Option<Found<Vec<&'a str>>> {
    let curve: Vec<(f64, Interval)> =
        missed.iter().enumerate().map(|(index, missed)| (index as f64, *missed)).collect();
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
