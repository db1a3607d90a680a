//! When claims are looked at, and what each look may cost.
//!
//! Claims that are open after the first passes are measured in further ones and looked at again. Whoever
//! looks several times may be misled each time, so the looks share one error. A claim asks on which side of
//! a threshold a value lies: its verdict is a test to one side, which may be wrong in 5 %, so that 10 % of
//! the intervals may miss their value on either side. Each look gets the same share of it (the error may be
//! spent as one likes if that is said before: Lan and DeMets 1983, Discrete sequential boundaries for
//! clinical trials), which by Bonferroni's inequality keeps the sum whatever the passes have in common. An
//! interval of one look holds its value in 97.5 %.

/// The share of intervals that may miss their value where there is one look.
pub(super) const ERROR: f64 = 0.05;

/// The same in all looks together.
const OF_ALL: f64 = 0.1;

/// After how many passes claims are looked at: each time as many again.
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
