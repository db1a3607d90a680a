//! The steps of a rising curve.

use super::{Interval, Side};

/// A step of a curve: between two neighbouring points, or over a run of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Index of the last point before the rise.
    pub before: usize,
    /// Index of the first point after the rise.
    pub after: usize,
}

/// Finds the steps of a curve of positive `values`. A step is a maximal run in which each value at `i +
/// 1` is at least `slope(i)` times the value at `i` (1.08 for 8 %). It is kept if the whole run rises by
/// at least the factor `total`. Calls `found` with each step, from left to right.
pub fn knees(
    values: &[f64],
    slope: impl Fn(usize) -> f64,
    total: f64,
    mut found: impl FnMut(Knee),
) {
    let mut before = 0;
    while before + 1 < values.len() {
        let mut after = before;
        while after + 1 < values.len() && values[after + 1] >= values[after] * slope(after) {
            after += 1;
        }
        if after > before {
            if values[after] / values[before] >= total {
                found(Knee { before, after });
            }
            before = after;
        } else {
            before += 1;
        }
    }
}

/// Returns the x between which a curve rises past `level`: the last x up to which every point certainly
/// lies below the level, and the first x from which on every point certainly does not. `points` are x
/// and value, in ascending x. Returns `None` if the first point is not certainly below, or the last not
/// certainly above.
///
/// Points whose intervals contain the level make the answer wider, but never wrong.
pub fn crossing(points: &[(f64, Interval)], level: f64) -> Option<Interval> {
    let sides = || points.iter().map(|(_, value)| value.side_of(level));
    let below = sides().take_while(|side| *side == Side::Below).count();
    let above = sides().rev().take_while(|side| *side == Side::Above).count();
    if below == 0 || above == 0 {
        return None;
    }
    let (last, first) = (points[below - 1].0, points[points.len() - above].0);
    Some(Interval::new(last, first))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn found(values: &[f64]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        knees(values, |_| 1.08, 1.3, |knee| all.push((knee.before, knee.after)));
        all
    }

    #[test]
    fn plateaus_and_steps_are_told_apart() {
        let curve = [5.0, 5.0, 5.1, 14.0, 14.2, 14.1, 40.0, 160.0, 165.0];
        assert_eq!(found(&curve), [(2, 3), (5, 7)]);
    }

    fn crossed(values: &[(f64, f64)]) -> Option<Interval> {
        let points: Vec<(f64, Interval)> = values
            .iter()
            .zip(1..)
            .map(|(&(lo, hi), x)| (f64::from(x), Interval::new(lo, hi)))
            .collect();
        crossing(&points, 5.0)
    }

    #[test]
    fn a_crossing_is_as_narrow_as_its_points_are_certain() {
        let between = |a, b| Some(Interval::new(a, b));
        let sharp = [(1.0, 2.0), (2.0, 3.0), (6.0, 7.0), (8.0, 9.0)];
        assert_eq!(crossed(&sharp), between(2.0, 3.0));
        let blurred = [(1.0, 2.0), (4.0, 6.0), (3.0, 4.0), (8.0, 9.0)];
        assert_eq!(crossed(&blurred), between(1.0, 4.0));
        let spike = [(1.0, 2.0), (6.0, 7.0), (1.0, 2.0), (8.0, 9.0)];
        assert_eq!(crossed(&spike), between(1.0, 4.0));
        assert_eq!(crossed(&[(1.0, 2.0), (3.0, 4.0)]), None);
        assert_eq!(crossed(&[(6.0, 7.0), (8.0, 9.0)]), None);
        assert_eq!(crossed(&[]), None);
    }

    #[test]
    fn a_slope_too_small_in_all_is_no_knee() {
        assert_eq!(found(&[5.0, 5.5, 5.6, 5.6]), []);
    }
}
