//! The ladder: walks in random order through growing working sets, from which all ranges come; and
//! a sparse one that tells where L2 ends.
//!
//! On a walk's way round, whoever else uses the core's caches takes lines away: a lap through 1 MiB
//! takes a tenth of a millisecond, and a neighbour needs no longer to fill L2. A walk that leaves
//! out seven lines of eight meets the others in an eighth of the sets, so that it leaves L2 at the
//! same working set, but it comes round eight times as often, and what is used more often is what a
//! cache keeps. That wants sets which the lowest bits of a line's number choose, as in every L2 that
//! is known; where a hash took more of them in, a sparse walk would end later than a dense one. (A
//! Zen 4's does from one line of sixteen on.) One line of two or four is no better than all of them:
//! the prefetcher of a line's other half brings in what is left out.

use crate::experiment::machine::half_octaves;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Case, LapsFrom, Point, Rung, State, Unit};
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
pub use crate::record::LADDER;
use crate::time::Rate;

/// The series of the sparse walks.
pub const SPARSE: &str = "random walk, one line of eight";

/// Walks through working sets that a shared last level holds wholly, partly or not at all, sampled once
/// two laps agree. A walk that starts in memory and comes round slowly loses its lines to whoever shares
/// the level, and stays in memory; one that starts in the caches comes round quickly and keeps them.
/// Between the two lies what nobody can promise.
pub const LAPS: [(LapsFrom, &str); 2] = [
    (LapsFrom::Memory, "laps until two agree, from memory"),
    (LapsFrom::Caches, "laps until two agree, from the caches"),
];

/// These walks through `bytes`.
pub(crate) fn laps(bytes: usize, seed: u64) -> impl Iterator<Item = Case> {
    let of_each = LAPS.into_iter();
    of_each.map(move |(start, series)| of_lines(series, 1, bytes, seed).laps_from(start))
}

/// The lines of which they use one.
pub(crate) const LINES: usize = 8;

/// Their working sets, in bytes: from inside every L1d to behind every L2.
const SPARSE_SETS: (usize, usize) = (12 << 10, 16 << 20);

/// A rung of the ladder. Caches are to show, not the TLB: in 2 MiB pages where there are any.
pub(crate) fn rung(bytes: usize, seed: u64) -> Case {
    of_lines(LADDER, 1, bytes, seed)
}

/// The sparse walks through up to `largest` bytes, two an octave.
pub fn sparse_rungs(largest: usize, seed: u64) -> impl Iterator<Item = Case> {
    let (least, most) = SPARSE_SETS;
    half_octaves(24, 1)
        .skip_while(move |&bytes| bytes < least)
        .take_while(move |&bytes| bytes <= largest.min(most))
        .map(move |bytes| of_lines(SPARSE, LINES, bytes, seed))
}

/// How often the sparse walks are laid out anew in a pass: which pages crowd which sets is chance.
const DRAWS: u32 = 2;

/// The sparse walks of a pass, each with the number of its layout, which is its pass in a record: there
/// are more of them than passes.
pub fn sparse_of_pass(largest: usize, seed: u64, pass: u32) -> impl Iterator<Item = (u32, Case)> {
    let draws = pass * DRAWS..(pass + 1) * DRAWS;
    draws.flat_map(move |draw| {
        let seed = seed.wrapping_add(u64::from(draw));
        sparse_rungs(largest, seed).map(move |case| (draw, case))
    })
}

/// The largest rung in bytes: well into memory, if the last of the caches is as large as `reported`, and
/// no larger than `largest`.
pub fn ladder_limit(reported: [Option<f64>; 3], largest: u64) -> usize {
    const LEAST: f64 = 256.0 * 1048576.0;
    const MOST: f64 = 1024.0 * 1048576.0;
    let last = reported[2].unwrap_or(0.0);
    let wanted = (8.0 * last).clamp(LEAST, MOST);
    wanted.min(largest as f64) as usize
}

/// A walk in random order over one line of so many in `bytes`.
pub(crate) fn of_lines(series: &str, lines: usize, bytes: usize, seed: u64) -> Case {
    let stride = lines * LINE;
    let setup = WalkSetup {
        count: bytes / stride,
        ..WalkSetup::follow(
            Layout::npad(7).spaced(stride),
            bytes,
            Order::Random { seed },
        )
    };
    Case::new(series, bytes as f64, setup).in_large_pages()
}

/// The rung that a point of the ladder makes, in core cycles, or in ticks without a yardstick.
pub fn rung_of(point: &Point, rate: Rate) -> Option<Rung> {
    let State::Measured(measured) = &point.state else {
        return None;
    };
    let cost = measured
        .interval(Unit::CoreCycles, rate)
        .unwrap_or(measured.ticks.interval);
    Some(Rung {
        working_set: point.x,
        cost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PageRequest;

    #[test]
    fn sparse_walks_span_what_they_leave_out() {
        let cases: Vec<Case> = sparse_rungs(1 << 20, 1).collect();
        assert_eq!(cases.first().map(|case| case.x), Some(16384.0));
        assert_eq!(cases.last().map(|case| case.x), Some(1048576.0));
        for case in cases {
            assert_eq!(case.series, SPARSE);
            assert_eq!(case.pages, PageRequest::HugeIfAny);
            // It ends with the last line that is used of as many eights as fit.
            let span = case.setup.bytes() as f64;
            let ends = case.x - (2 * LINES * LINE) as f64..=case.x;
            assert!(ends.contains(&span), "{span} of {}", case.x);
        }
        assert_eq!(
            sparse_rungs(usize::MAX, 1).last().map(|case| case.x),
            Some(16777216.0)
        );
    }
}
