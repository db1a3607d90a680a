//! Quantiles of Student's t, and the two derivatives of the logarithm of the gamma function.
//!
//! Formulas of Abramowitz and Stegun, Handbook of Mathematical Functions: 6.1.40 (ln gamma), 6.3.18
//! (digamma), 6.4.12 (trigamma), 26.5.8 (the incomplete beta function as a continued fraction), 26.7.1
//! (Student's t by the incomplete beta function).

#[cfg(not(feature = "std"))]
use crate::float::Float as _;

/// Below this the asymptotic series are not accurate enough, and the recurrences are applied up to it.
const LARGE: f64 = 10.0;

/// Returns the t beyond which `error` of its distribution lies, half on each side.
pub(super) fn t_quantile(error: f64, dof: f64) -> f64 {
    // With a third of a degree of freedom, t reaches millions.
    zero(-10.0, 60.0, |ln_t| (beyond(ln_t.exp(), dof) / error).ln()).exp()
}

/// Returns the share of the distribution that lies beyond `t` or beyond `-t`.
fn beyond(t: f64, dof: f64) -> f64 {
    incomplete_beta(dof / 2.0, 0.5, dof / (dof + t * t))
}

/// Returns the zero of a falling function between `lo` and `hi`: by halves while they are far apart, then by
/// false position with the weights of the Illinois algorithm.
fn zero(mut lo: f64, mut hi: f64, of: impl Fn(f64) -> f64) -> f64 {
    while hi - lo > 1.0 {
        let middle = (lo + hi) / 2.0;
        if of(middle) > 0.0 { lo = middle } else { hi = middle }
    }
    let (mut above, mut below) = (of(lo), of(hi));
    let mut last_above = None;
    // A dozen rounds at most, unless a value is infinite.
    for _ in 0..100 {
        let next = lo + (hi - lo) * above / (above - below);
        let value = of(next);
        if value.abs() < 1e-9 || hi - lo < 1e-9 {
            return next;
        }
        let is_above = value > 0.0;
        let again = last_above.replace(is_above) == Some(is_above);
        let weight = if again { 0.5 } else { 1.0 };
        if is_above {
            (lo, above, below) = (next, value, weight * below);
        } else {
            (hi, below, above) = (next, value, weight * above);
        }
    }
    (lo + hi) / 2.0
}

/// Returns the point at which `below` changes from true to false.
pub(super) fn bisect(mut lo: f64, mut hi: f64, below: impl Fn(f64) -> bool) -> f64 {
    while hi - lo > 1e-7 * hi.abs().max(1.0) {
        let middle = (lo + hi) / 2.0;
        if below(middle) { lo = middle } else { hi = middle }
    }
    (lo + hi) / 2.0
}

/// Returns the first of `x`, `x + 1` and so on that is at least [`LARGE`], and the sum of `step` over those before it.
fn up_to_large(mut x: f64, step: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut below = 0.0;
    while x < LARGE {
        below += step(x);
        x += 1.0;
    }
    (x, below)
}

/// Returns the logarithm of the gamma function of a positive number.
fn ln_gamma(x: f64) -> f64 {
    let (x, below) = up_to_large(x, |x| x.ln());
    let square = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * core::f64::consts::TAU.ln() + series - below
}

/// Returns the derivative of [`ln_gamma`].
pub(super) fn digamma(x: f64) -> f64 {
    let (x, below) = up_to_large(x, |x| 1.0 / x);
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0));
    x.ln() - 0.5 / x - series - below
}

/// Returns the derivative of [`digamma`].
pub(super) fn trigamma(x: f64) -> f64 {
    let (x, below) = up_to_large(x, |x| 1.0 / (x * x));
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    (1.0 + 0.5 / x + series) / x + below
}

/// Returns the regularised incomplete beta function of `x` from 0 to 1.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    ln_front.exp() / a / beta_fraction(a, b, x)
}

/// Evaluates the continued fraction of the incomplete beta function, from its end.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    // The number of terms needed grows with the square root of the larger parameter; 30 more give the
    // digits.
    let terms = 30 + 2 * a.max(b).sqrt() as u32;
    let mut rest = 1.0;
    // A plain loop is fast without optimisation too, and judging a run spends its time here.
    let mut term = terms;
    while term > 0 {
        let m = f64::from(term / 2);
        let numerator = match term % 2 {
            0 => m * (b - m) / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        rest = 1.0 + numerator * x / rest;
        term -= 1;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 2e-4, "{found}, not {wanted}");
    }

    /// Values from tables of Student's t.
    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        for (error, dof, wanted) in [
            (0.05, 1.0, 12.7062),
            (0.05, 2.0, 4.30265),
            (0.05, 3.0, 3.18245),
            (0.05, 10.0, 2.22814),
            (0.05, 1e6, 1.95997),
            (0.01, 1.0, 63.6567),
            (0.01, 5.0, 4.03214),
            (0.001, 30.0, 3.6460),
        ] {
            assert_near(t_quantile(error, dof), wanted);
        }
    }

    #[test]
    fn a_quantile_takes_a_dozen_steps() {
        for (error, dof) in [(0.05, 0.3), (0.05, 1.0), (0.01, 4.7), (1e-4, 60.0), (0.05, 1e6)] {
            let steps = core::cell::Cell::new(0);
            let found = zero(-10.0, 60.0, |ln_t| {
                steps.set(steps.get() + 1);
                (beyond(ln_t.exp(), dof) / error).ln()
            });
            let beyond = beyond(found.exp(), dof);
            assert!((beyond / error - 1.0).abs() < 1e-8, "{beyond} of {error}");
            assert!(steps.get() <= 18, "{} steps for {error}, {dof}", steps.get());
        }
    }

    #[test]
    fn half_a_degree_of_freedom_has_a_quantile_between_its_neighbours() {
        let [third, half, one] = [0.3, 0.5, 1.0].map(|dof| t_quantile(0.05, dof));
        assert!(third > 10.0 * half && half > 10.0 * one && third.is_finite());
    }

    #[test]
    fn the_derivatives_of_the_gamma_function_have_their_known_values() {
        let euler = 0.577_215_664_901_532_9;
        assert_near(digamma(1.0), -euler);
        assert_near(digamma(0.5), -euler - 2.0 * 2.0_f64.ln());
        assert_near(trigamma(1.0), core::f64::consts::PI.powi(2) / 6.0);
        assert_near(trigamma(0.5), core::f64::consts::PI.powi(2) / 2.0);
        assert_near(ln_gamma(0.5), core::f64::consts::PI.sqrt().ln());
        assert_near(ln_gamma(11.0), 3_628_800.0_f64.ln());
    }
}
