//! When claims are looked at, and what each look may cost.
//!
//! Claims that are open after the first passes are measured in further ones and looked at again. Looking
//! several times at 95 % intervals would miss the value in more than 5 % of the cases. So each look has a
//! share of the 5 %, by the spending function of Lan and DeMets (1983, Discrete sequential boundaries for
//! clinical trials) that comes near the boundaries of Pocock: up to the share `t` of all passes
//! 5 % ln(1 + (e - 1) t) may be spent. A look gets what may be spent since the look before, which by
//! Bonferroni's inequality keeps the sum whatever the passes have in common.

/// The share of intervals that may miss their value, in all looks together.
pub(super) const ERROR: f64 = 0.05;

/// After how many passes claims are looked at: each time as many again.
pub const LOOKS: [u32; 3] = [2, 4, 8];

/// The share of intervals that may miss their value at the look that so many passes belong to.
pub(super) fn error(passes: usize) -> f64 {
    let [.., most] = LOOKS;
    let spent = |passes: u32| {
        let share = f64::from(passes) / f64::from(most);
        ERROR * ((core::f64::consts::E - 1.0) * share).ln_1p()
    };
    let last = LOOKS.len() - 1;
    let look = LOOKS.iter().position(|look| passes <= *look as usize);
    let look = look.unwrap_or(last);
    let before = look
        .checked_sub(1)
        .map_or(0.0, |before| spent(LOOKS[before]));
    spent(LOOKS[look]) - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_cost_as_much_as_one() {
        let all: f64 = LOOKS.iter().map(|look| error(*look as usize)).sum();
        assert!((all - ERROR).abs() < 1e-12, "{all}");
        assert!(LOOKS.iter().all(|look| error(*look as usize) > 0.01));
        assert_eq!(error(1), error(2));
        assert_eq!(error(3), error(4));
        assert_eq!(error(12), error(8));
    }
}
