//! The lengths of the cycles that result from Sestoft's ways to fill an array (his appendix A.2).

/// Returns the expected length of the cycle that is reached from any start in the array `a[k] =
/// random(size)`.
///
/// It is `(Q + 1) / 2` with Ramanujan's `Q(n) = 1 + (n-1)/n + (n-1)(n-2)/n^2 + ...`, which is close to
/// `sqrt(pi n / 8)` for large `n` (Flajolet and Odlyzko, "Random Mapping Statistics", 1989). Zero
/// without elements.
pub fn cycle_of_function(size: u64) -> f64 {
    if size == 0 {
        return 0.0;
    }
    let n = size as f64;
    let mut term = 1.0;
    let mut q = 0.0;
    let mut step = 1.0;
    // Terms fall like exp(-k^2 / 2n): after about ten sqrt(n) terms nothing is added.
    while term > 1e-18 {
        q += term;
        term *= 1.0 - step / n;
        step += 1.0;
    }
    (q + 1.0) / 2.0
}

/// Returns the probability that the cycle through one element of a random permutation of `size` elements
/// has at least `length` elements.
pub fn long_cycles(size: u64, length: u64) -> f64 {
    (size + 1).saturating_sub(length.max(1)) as f64 / size.max(1) as f64
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// Returns the mean over every function on `size` elements and every start.
    fn mean_of_all(size: usize) -> f64 {
        let functions = size.pow(size as u32);
        let mut sum = 0;
        for code in 0..functions {
            let next = |k: usize| code / size.pow(k as u32) % size;
            for start in 0..size {
                let on_cycle = (0..size).fold(start, |at, _| next(at));
                let mut at = next(on_cycle);
                let mut length = 1;
                while at != on_cycle {
                    at = next(at);
                    length += 1;
                }
                sum += length;
            }
        }
        sum as f64 / (functions * size) as f64
    }

    #[test]
    fn small_functions_are_counted_out() {
        for size in 1..=6 {
            let expected = mean_of_all(size);
            let found = cycle_of_function(size as u64);
            assert!((found - expected).abs() < 1e-12, "{size}: {found} {expected}");
        }
    }

    #[test]
    fn large_functions_come_near_the_formula_of_the_note() {
        for size in [10_000_u64, 10_000_000] {
            let near = (std::f64::consts::PI * size as f64 / 8.0).sqrt();
            let found = cycle_of_function(size);
            assert!((found / near - 1.0).abs() < 0.02, "{found} {near}");
        }
        assert_eq!(cycle_of_function(0), 0.0);
    }

    #[test]
    fn every_length_of_a_permutation_is_as_likely() {
        assert_eq!(long_cycles(10, 10), 0.1);
        assert_eq!(long_cycles(10, 1), 1.0);
        assert_eq!(long_cycles(10, 0), 1.0);
        assert_eq!(long_cycles(10, 11), 0.0);
        assert_eq!(long_cycles(0, 1), 0.0);
    }
}
