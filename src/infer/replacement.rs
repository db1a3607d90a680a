//! Which line a full set gives up, from sequences of accesses that policies serve differently: as
//! A. Abel and J. Reineke infer it from counted misses ("Reverse Engineering of Cache Replacement
//! Policies in Intel Microprocessors and Their Evaluation", ISPASS 2014), here from times.

use alloc::vec::Vec;

use super::found::{Found, decide};
use crate::stats::Interval;

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
