//! What the ladders tell: their rungs, and the clock.

use crate::experiment::{LADDER, Point, SPARSE, State, Unit};
use crate::infer::{self, Curve, Found};
use crate::stats::Interval;
use crate::time::Rate;

/// The rungs of a ladder, each from the pass in which it was quickest: a neighbour that takes part
/// of a cache makes a step slower, and none makes it faster.
pub(super) fn quickest(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, LADDER, rate, |passes| passes.first().copied())
}

/// The rungs of the sparse walks, each as it was in the middle half of its passes: a neighbour takes
/// little from them, and luck, which pages crowd which sets, goes both ways.
pub(super) fn usual(ladder: &[Point], rate: Rate) -> Vec<(f64, Interval)> {
    rungs(ladder, SPARSE, rate, |passes| match passes {
        [] => None,
        [only] => Some(*only),
        [..] => {
            let last = passes.len() - 1;
            let (lo, hi) = (passes[last / 4], passes[last - last / 4]);
            Some(Interval::new(lo.middle(), hi.middle()))
        }
    })
}

/// The rungs of one series of the ladder in core cycles, or in nanoseconds without a core clock: of
/// the passes over each, the quickest first, what `pick` makes of them.
fn rungs(
    ladder: &[Point],
    series: &str,
    rate: Rate,
    pick: impl Fn(&[Interval]) -> Option<Interval>,
) -> Vec<(f64, Interval)> {
    let of_series = ladder.iter().filter(|point| point.series == series);
    let mut rungs: Vec<(f64, Interval)> = of_series
        .filter_map(|point| {
            let State::Measured(measured) = &point.state else {
                return None;
            };
            let passes = measured.passes(Unit::CoreCycles, rate);
            let passes = passes.or_else(|| measured.passes(Unit::Nanoseconds, rate))?;
            let mut passes: Vec<Interval> = passes.into_iter().map(|pass| pass.interval).collect();
            passes.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
            Some((point.x, pick(&passes)?))
        })
        .collect();
    rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
    rungs
}

/// Bytes of L2, as both ladders say.
pub(super) fn size_of_l2(dense: &Curve, sparse: &Curve) -> Option<Found<f64>> {
    either(infer::size(dense, 1), infer::size(sparse, 1), || {
        infer::size_of_both([dense, sparse], 1)
    })
}

/// What both ladders say, with the surer one's confidence. If they differ, what explains both of them
/// best; if nothing does, what the sparse one says, from which neighbours take less, and half as sure.
fn either(
    dense: Option<Found<f64>>,
    sparse: Option<Found<f64>>,
    both: impl FnOnce() -> Option<Found<f64>>,
) -> Option<Found<f64>> {
    match (dense, sparse) {
        (Some(dense), Some(sparse)) if dense.value == sparse.value => Some(Found {
            confidence: dense.confidence.max(sparse.confidence),
            ..sparse
        }),
        (Some(_), Some(sparse)) => both().or(Some(Found {
            confidence: sparse.confidence / 2.0,
            ..sparse
        })),
        (dense, sparse) => sparse.or(dense),
    }
}

/// From the least of all to the largest.
pub(super) fn hull(ranges: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
    ranges.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])])
}

/// Core cycles per tick, from every point of the ladder; they agree where neither clock changed.
pub(super) fn clock(ladder: &[Point]) -> Option<Found<f64>> {
    let ratios = ladder.iter().filter_map(|point| match &point.state {
        State::Measured(measured) => measured.core_per_tick,
        _ => None,
    });
    infer::settled(ratios, 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_that_differ_are_asked_together_or_else_the_sparse_one_is_half_believed() {
        let found = |value, confidence| Some(Found { value, confidence });
        let either = |dense, sparse, both: Option<Found<f64>>| either(dense, sparse, || both);
        let alike = |a, b| either(found(1.0, a), found(1.0, b), found(9.0, 1.0));
        assert_eq!(alike(0.6, 0.9), found(1.0, 0.9));
        assert_eq!(alike(0.9, 0.6), found(1.0, 0.9));
        let both = found(0.5, 0.7);
        assert_eq!(either(found(0.5, 1.0), found(1.0, 0.8), both.clone()), both);
        assert_eq!(
            either(found(0.5, 1.0), found(1.0, 0.8), None),
            found(1.0, 0.4)
        );
        assert_eq!(either(None, found(1.0, 0.8), both), found(1.0, 0.8));
        assert_eq!(either(None, None, None), None);
    }
}
