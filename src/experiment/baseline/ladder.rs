//! The ladder: walks in random order through growing working sets, from which all ranges derive, and a
//! sparse ladder that shows where L2 ends.
//!
//! Other users of the core's caches evict lines between two visits of a walk: a lap through 1 MiB takes
//! a tenth of a millisecond, in which a neighbour can fill L2. A walk over one line of eight uses an
//! eighth of the sets, so it outgrows L2 at the same working set. It visits each line eight times as
//! often, and a cache keeps lines that are used more often. This requires that the lowest bits of a
//! line's number choose the set, as in every known L2. If a hash took in more bits, a sparse walk would
//! outgrow L2 later than a dense walk, as it does on Zen 4 from one line of sixteen on. A walk over one
//! line of two or four has no advantage: the prefetcher of the adjacent line loads the lines left out.

pub use crate::LADDER;
use crate::experiment::machine::half_octaves;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Case, LapsFrom, Point, Rung, State, Unit};
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::time::Rate;

/// The series of the sparse walks.
pub const SPARSE: &str = "random walk, one line of eight";

/// Walks through working sets that a shared last level holds wholly, partly or not at all, sampled once
/// two laps agree. A walk that starts in memory is slow, loses its lines to other users of the level,
/// and stays in memory. A walk that starts in the caches is fast and keeps its lines. For working sets
/// where the two differ, the result depends on chance.
pub const LAPS: [(LapsFrom, &str); 2] = [
    (LapsFrom::Memory, "laps until two agree, from memory"),
    (LapsFrom::Caches, "laps until two agree, from the caches"),
];

/// Returns these walks through `bytes` bytes.
pub(crate) fn laps(bytes: usize, seed: u64) -> impl Iterator<Item = Case> {
    let of_each = LAPS.into_iter();
    of_each.map(move |(start, series)| of_lines(series, 1, bytes, seed).laps_from(start))
}

/// The sparse walks use one line of this many.
pub(crate) const LINES: usize = 8;

/// The working sets of the sparse walks, in bytes: from inside every L1d to beyond every L2.
const SPARSE_SETS: (usize, usize) = (12 << 10, 16 << 20);

/// Returns a rung of the ladder. It uses 2 MiB pages where available, to show the caches and not the
/// TLB.
pub(crate) fn rung(bytes: usize, seed: u64) -> Case {
    of_lines(LADDER, 1, bytes, seed)
}

/// Returns the sparse walks through up to `largest` bytes, two per octave.
fn sparse_rungs(largest: usize, seed: u64) -> impl Iterator<Item = Case> {
    let (least, most) = SPARSE_SETS;
    half_octaves(24, 1)
        .skip_while(move |&bytes| bytes < least)
        .take_while(move |&bytes| bytes <= largest.min(most))
        .map(move |bytes| of_lines(SPARSE, LINES, bytes, seed))
}

/// Layouts of the sparse walks per pass: which sets are crowded depends on the physical pages, by
/// chance.
const DRAWS: u32 = 2;

/// Returns the sparse walks of a pass, each with the number of its layout. A record stores that number
/// as the pass, so there are more such passes than passes of the run.
pub fn sparse_of_pass(largest: usize, seed: u64, pass: u32) -> impl Iterator<Item = (u32, Case)> {
    let draws = pass * DRAWS..(pass + 1) * DRAWS;
    draws.flat_map(move |draw| {
        let seed = seed.wrapping_add(u64::from(draw));
        sparse_rungs(largest, seed).map(move |case| (draw, case))
    })
}

/// Returns the largest rung in bytes: well into memory if the last-level cache is as large as reported,
/// and at most `largest`. If memory begins beyond 1 GiB, the ladder ends where it begins.
pub fn ladder_limit(reported: [Option<f64>; 3], largest: u64) -> usize {
    const LEAST: f64 = 256.0 * 1048576.0;
    const MOST: f64 = 1024.0 * 1048576.0;
    let last = reported[2].unwrap_or(0.0);
    let begins = ((4.0 * last) as u64).next_power_of_two() as f64;
    let wanted = (8.0 * last).clamp(LEAST, MOST.max(begins));
    wanted.min(largest as f64) as usize
}

/// Returns a walk in random order through `bytes` bytes, over one line of every `lines`.
pub(crate) fn of_lines(series: &str, lines: usize, bytes: usize, seed: u64) -> Case {
    let stride = lines * LINE;
    let setup = WalkSetup {
        count: bytes / stride,
        ..WalkSetup::follow(Layout::npad(7).spaced(stride), bytes, Order::Random { seed })
    };
    Case::new(series, bytes as f64, setup).in_large_pages()
}

/// Returns the rung of a point of the ladder, in core cycles, or in ticks without a yardstick.
pub fn rung_of(point: &Point, rate: Rate) -> Option<Rung> {
    let State::Measured(measured) = &point.state else { return None };
    let cost = measured.interval(Unit::CoreCycles, rate).unwrap_or(measured.ticks.interval);
    Some(Rung { working_set: point.x, cost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PageRequest;

    #[test]
    fn the_ladder_ends_in_memory() {
        let mib = |last: f64, largest: u64| {
            ladder_limit([None, None, Some(last * 1048576.0)], largest << 20) >> 20
        };
        assert_eq!(mib(2.0, 1024), 256);
        assert_eq!(mib(64.0, 1024), 512);
        assert_eq!(mib(200.0, 1024), 1024);
        assert_eq!(mib(320.0, 2048), 2048);
        assert_eq!(mib(320.0, 1024), 1024);
    }

    #[test]
    fn sparse_walks_span_what_they_leave_out() {
        let cases = || sparse_rungs(1 << 20, 1);
        assert_eq!(cases().next().map(|case| case.x), Some(16384.0));
        assert_eq!(cases().last().map(|case| case.x), Some(1048576.0));
        for case in cases() {
            assert_eq!(case.series, SPARSE);
            assert_eq!(case.pages, PageRequest::HugeIfAny);
            // The span ends with the last used line, in as many groups of eight as fit.
            let span = case.setup.bytes() as f64;
            let ends = case.x - (2 * LINES * LINE) as f64..=case.x;
            assert!(ends.contains(&span), "{span} of {}", case.x);
        }
        assert_eq!(sparse_rungs(usize::MAX, 1).last().map(|case| case.x), Some(16777216.0));
    }
}
