//! The quality of a point: its passes, their disturbances, and the resulting uncertainty.
//!
//! A claim asks on which side of a threshold a value lies. Its verdict is a one-sided test, which may be
//! wrong in 5 % of cases, so 10 % of the two-sided intervals may miss their value (Schuirmann 1987, A
//! comparison of the two one-sided tests procedure and the power approach). Claims that are undecided
//! after the first passes are measured in further passes and judged again. All judgements (looks) share
//! that error. It may be divided freely if the division is fixed in advance (Lan and DeMets 1983,
//! Discrete sequential boundaries for clinical trials). Early looks get little of it, as in O'Brien and
//! Fleming 1979 (A multiple testing procedure for clinical trials). The last judgement gets what earlier
//! looks left, whenever the time of the run ends. By Bonferroni's inequality the sum holds however the
//! passes depend on each other.

pub mod doubt;
pub mod passes;

/// The share of intervals that may miss their value, in all judgements together.
const ALL: f64 = 0.1;

/// The numbers of passes after which claims are judged; each is twice the one before.
pub const LOOKS: [u32; 5] = [2, 4, 8, 16, 32];

/// The share of [`ALL`] that each look gets if claims may be measured further after it.
const SHARES: [f64; LOOKS.len()] = [0.1, 0.1, 0.15, 0.25, 0.4];

/// The kind of judgement on the claims of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judging {
    /// The only judgement: every point has the planned passes.
    Only,
    /// A look, after which undecided claims are measured in further passes.
    Look,
    /// The last judgement of a run with earlier looks.
    Last,
}

impl Judging {
    /// Returns the share of intervals that may miss their value, for points with `passes` passes.
    pub(super) fn error(self, passes: usize) -> f64 {
        let looks = LOOKS.into_iter().zip(SHARES);
        let before = |(look, _): &(u32, f64)| (*look as usize) < passes;
        match self {
            Judging::Only => ALL,
            Judging::Look => {
                let (_, share) = looks
                    .clone()
                    .find(|look| !before(look))
                    .unwrap_or((0, SHARES[LOOKS.len() - 1]));
                ALL * share
            }
            Judging::Last => {
                ALL * (1.0 - looks.filter(before).map(|(_, share)| share).sum::<f64>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_judgements_together_have_the_error_of_one() {
        for passes in [2, 3, 4, 5, 8, 9, 16] {
            let earlier = LOOKS.into_iter().filter(|look| (*look as usize) < passes);
            let earlier: f64 = earlier.map(|look| Judging::Look.error(look as usize)).sum();
            let all = earlier + Judging::Last.error(passes);
            assert!((all - Judging::Only.error(passes)).abs() < 1e-12, "{passes}: {all}");
        }
        assert!(LOOKS.windows(2).all(|looks| looks[1] == 2 * looks[0]));
        let errors = LOOKS.map(|look| Judging::Look.error(look as usize));
        assert!(errors.is_sorted() && errors.iter().all(|error| *error > 0.0), "{errors:?}");
    }
}
