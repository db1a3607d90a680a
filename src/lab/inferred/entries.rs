//! Entries of the TLBs.

use crate::infer::{self, Curve};
use crate::stats::Interval;

/// Between them lie the entries of every L1 dTLB, and of every second level.
const FEW: f64 = 16.0;
const MIDDLE: f64 = 384.0;
const MANY: f64 = 8192.0;

/// Entries of both levels: what as many lines without their pages cost is taken off beyond the
/// first, so that steps of the caches drop out.
pub(super) fn of_both(pages: &Curve, lines: &Curve) -> [Option<Interval>; 2] {
    let of_lines = |count: f64| {
        lines
            .iter()
            .find(|(at, _)| *at == count)
            .map(|(_, time)| *time)
    };
    let beyond = |count: f64, time: Interval| {
        let (near, far) = (of_lines(MIDDLE)?, of_lines(count)?);
        let less = Interval::new(far.lo - near.hi, far.hi - near.lo);
        Some((count, Interval::new(time.lo - less.hi, time.hi - less.lo)))
    };
    let behind: Vec<(f64, Interval)> = pages
        .iter()
        .filter(|(count, _)| *count >= MIDDLE)
        .filter_map(|&(count, time)| beyond(count, time))
        .collect();
    [
        infer::entries(pages, FEW, MIDDLE),
        infer::entries(&behind, MIDDLE, MANY),
    ]
}
