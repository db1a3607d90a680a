//! Where a rising curve steps up.

/// A step of a curve: between two neighbouring points, or a run of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Index of the last point before the rise.
    pub before: usize,
    /// Index of the first point after the rise.
    pub after: usize,
    /// Value after the rise over value before it.
    pub rise: f64,
}

/// Finds the steps of a curve of positive `values`: maximal runs of neighbours, the one at `i + 1`
/// at least `slope(i)` times the one at `i` (1.08 for 8 %), kept if the whole run rises by at
/// least `total`. Calls `found` with each, from left to right.
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
            let rise = values[after] / values[before];
            if rise >= total {
                found(Knee {
                    before,
                    after,
                    rise,
                });
            }
            before = after;
        } else {
            before += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn found(values: &[f64]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        knees(
            values,
            |_| 1.08,
            1.3,
            |knee| all.push((knee.before, knee.after)),
        );
        all
    }

    #[test]
    fn plateaus_and_steps_are_told_apart() {
        let curve = [5.0, 5.0, 5.1, 14.0, 14.2, 14.1, 40.0, 160.0, 165.0];
        assert_eq!(found(&curve), [(2, 3), (5, 7)]);
    }

    #[test]
    fn a_slope_too_small_in_all_is_no_knee() {
        assert_eq!(found(&[5.0, 5.5, 5.6, 5.6]), []);
    }
}
