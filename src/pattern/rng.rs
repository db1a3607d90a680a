//! Seeded random numbers, which make every layout reproducible, and numbers drawn ahead of their use, so
//! that the memory they select can be prefetched.

use crate::cpu::prefetcht0;

/// A small generator (splitmix64: Steele, Lea and Flood, OOPSLA 2014) with a 64-bit state.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator whose numbers depend only on `seed`.
    pub const fn new(seed: u64) -> Self {
        Rng { state: seed }
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound` (0 if `bound` is 0), by multiplication; the bias is below
    /// `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}

/// Numbers drawn ahead: more than the misses that a core can have in flight.
const AHEAD: usize = 32;

/// Prefetches the line at `place`. Does nothing under Miri, which lacks the instruction.
pub(super) fn fetch(place: *const u8) {
    if !cfg!(miri) {
        prefetcht0(place);
    }
}

/// A use of a number.
pub(super) enum Turn {
    /// The number will be used soon: prefetch the memory it selects.
    Fetch(usize),
    /// The number is used.
    Take {
        /// The bound of the number.
        below: usize,
        /// The number.
        drawn: usize,
    },
}

/// Draws a number below each of `bounds`, in order. Calls `each` to prefetch for a number and, some turns
/// later, to use it. Building a large pattern misses the caches at random; with numbers drawn one by one,
/// most of these misses would not overlap.
pub(super) fn draw_ahead(
    bounds: impl Iterator<Item = usize> + Clone,
    rng: &mut Rng,
    mut each: impl FnMut(Turn),
) {
    let mut drawn = [0; AHEAD];
    let mut early = bounds.clone();
    for (slot, below) in drawn.iter_mut().zip(early.by_ref()) {
        *slot = rng.below(below);
        each(Turn::Fetch(*slot));
    }
    for (turn, below) in bounds.enumerate() {
        let slot = &mut drawn[turn % AHEAD];
        each(Turn::Take { below, drawn: *slot });
        if let Some(below) = early.next() {
            *slot = rng.below(below);
            each(Turn::Fetch(*slot));
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_published_sequence() {
        // The first outputs for seed 1234567 of the authors' reference implementation.
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.bits(), 6_457_827_717_110_365_317);
        assert_eq!(rng.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = Rng::new(7);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[rng.below(10)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }

    /// The numbers are the same as if drawn one by one; each is prefetched once and before its use, for
    /// fewer and for more numbers than are drawn ahead.
    #[test]
    fn as_if_drawn_one_by_one() {
        for count in [0, 1, 31, 32, 33, 500] {
            let mut one_by_one = Rng::new(7);
            let expected: Vec<_> = (1..=count).map(|bound| one_by_one.below(bound)).collect();
            let (mut fetched, mut taken) = (Vec::new(), Vec::new());
            draw_ahead(1..count + 1, &mut Rng::new(7), |turn| match turn {
                Turn::Fetch(drawn) => fetched.push(drawn),
                Turn::Take { below, drawn } => {
                    taken.push(drawn);
                    assert_eq!(below, taken.len());
                    assert!(fetched.len() >= taken.len());
                }
            });
            assert_eq!(fetched, expected);
            assert_eq!(taken, expected);
        }
    }
}
