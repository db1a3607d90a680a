//! Seeded random numbers, so that every layout can be built again, and numbers that are drawn ahead of
//! their use, so that what lies there can be fetched.

use crate::cpu::prefetcht0;

/// A small generator (splitmix64: Steele, Lea and Flood, OOPSLA 2014) with a 64-bit state.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator whose numbers follow from `seed` alone.
    pub const fn new(seed: u64) -> Self {
        Rng { state: seed }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound` (0 if `bound` is 0), by multiplication; the bias is below
    /// `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}

/// Numbers drawn ahead: more misses than a core keeps in flight.
const AHEAD: usize = 32;

/// Has the line at `place` fetched. Miri has no instruction for that, and loses nothing.
pub(super) fn fetch(place: *const u8) {
    if !cfg!(miri) {
        prefetcht0(place);
    }
}

/// What to do with a number.
pub(super) enum Turn {
    /// It will be used soon: fetch what lies there.
    Fetch(usize),
    /// Use it.
    Take {
        /// What it was to lie below.
        below: usize,
        /// The number.
        drawn: usize,
    },
}

/// Draws a number below each of `bounds`, in turn, and has `each` fetch it and, some turns later,
/// use it. To build a large pattern is to miss the caches at random; drawn one by one the numbers
/// would leave most of these misses to be waited for.
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
        each(Turn::Take {
            below,
            drawn: *slot,
        });
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

    /// The numbers are those that drawing one by one gives, each fetched once and before its use,
    /// whether there are fewer of them than are drawn ahead, or more.
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
