//! When claims are judged, and the error that each judgement may have.
//!
//! Claims that are undecided after the first passes are measured in further passes and judged again.
//! Each judgement (look) may be wrong, so all looks share one error. A claim asks on which side of a
//! threshold a value lies. Its verdict is a one-sided test, which may be wrong in 5 %, so 10 % of the
//! two-sided intervals may miss their value. Each look gets the same share of this error (the error may
//! be divided freely if the division is fixed before: Lan and DeMets 1983, Discrete sequential boundaries
//! for clinical trials). By Bonferroni's inequality the sum holds however the passes depend on each other.
//! An interval of one look holds its value in 97.5 %.

/// The share of intervals that may miss their value if there is one look.
pub(super) const ERROR: f64 = 0.05;

/// The same for all looks together.
const OF_ALL: f64 = 0.1;

/// After how many passes claims are judged: the number doubles each time.
pub const LOOKS: [u32; 4] = [2, 4, 8, 16];

/// The share of intervals that may miss their value at a look.
pub(super) const OF_A_LOOK: f64 = OF_ALL / LOOKS.len() as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_a_look_miss_no_more_than_those_of_a_single_one() {
        assert!(OF_A_LOOK < ERROR && OF_A_LOOK * LOOKS.len() as f64 <= OF_ALL);
        assert!(LOOKS.windows(2).all(|looks| looks[1] == 2 * looks[0]));
    }
}
