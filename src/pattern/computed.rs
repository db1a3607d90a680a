//! Permutations that are computed instead of drawn and stored.
//!
//! A large list is written in address order by them. In pages of 4 KiB that takes an eighth of the time that
//! a random access per element takes.

use super::Rng;

/// The number of elements from which a cycle is computed: its list is larger than the caches of the second
/// level. A smaller one is drawn, each cycle with the same probability, which takes little time in a cache.
pub(super) const FROM: usize = 1 << 20;

/// Rounds of mixing: one more than it takes until no test tells the steps of a cycle from drawn ones.
const ROUNDS: usize = 5;

/// The factor of a round, odd and therefore invertible modulo every power of two (splitmix64's).
const FACTOR: u64 = 0xBF58_476D_1CE4_E5B9;

/// The inverse of [`FACTOR`] modulo 2^64.
const INVERSE: u64 = inverse(FACTOR);

/// A pseudorandom permutation of the numbers below a count.
///
/// Every round adds a key to a number of a few bits, multiplies, and xors the upper half of the bits onto the
/// lower: three steps that can be undone. A result that is not below the count is permuted again until it
/// is, which is a permutation too (Black and Rogaway, CT-RSA 2002, "Ciphers with arbitrary finite domains").
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    count: u64,
    mask: u64,
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Returns a permutation of the numbers below `count` (at least 1), with keys of `rng`.
    pub fn of(count: usize, rng: &mut Rng) -> Self {
        let count = count.max(1) as u64;
        let bits = (u64::BITS - (count - 1).leading_zeros()).max(2);
        Permutation {
            count,
            mask: u64::MAX >> (u64::BITS - bits),
            half: bits.div_ceil(2),
            keys: [(); ROUNDS].map(|()| rng.bits()),
        }
    }

    /// Returns the number that `number`, which is below the count, is permuted to.
    #[inline]
    pub fn of_number(&self, number: usize) -> usize {
        let mut mixed = number as u64;
        loop {
            for key in self.keys {
                mixed = mixed.wrapping_add(key).wrapping_mul(FACTOR) & self.mask;
                mixed ^= mixed >> self.half;
            }
            if mixed < self.count {
                return mixed as usize;
            }
        }
    }

    /// Returns the number that is permuted to `number`.
    #[inline]
    fn undone(&self, number: usize) -> usize {
        let mut mixed = number as u64;
        loop {
            for key in self.keys.into_iter().rev() {
                mixed ^= mixed >> self.half;
                mixed = mixed.wrapping_mul(INVERSE).wrapping_sub(key) & self.mask;
            }
            if mixed < self.count {
                return mixed as usize;
            }
        }
    }

    /// Returns the number `steps` after `number` on a cycle through all numbers below the count, which are in
    /// the order of the permutation.
    #[inline]
    pub fn after(&self, number: usize, steps: usize) -> usize {
        let count = self.count as usize;
        let place = self.undone(number) + steps % count;
        self.of_number(if place < count { place } else { place - count })
    }
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of
/// right bits, of which the number itself has three.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_number_comes_once_and_back() {
        for count in [1, 2, 3, 5, 64, 1000, 4096, 4097, 100_000] {
            let permutation = Permutation::of(count, &mut Rng::new(count as u64));
            let mut all: Vec<usize> = (0..count).map(|n| permutation.of_number(n)).collect();
            assert!((0..count).all(|n| permutation.undone(all[n]) == n));
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count));
        }
    }

    #[test]
    fn one_cycle_goes_through_all() {
        for count in [1, 2, 3, 1000, 65_536, 70_001] {
            let permutation = Permutation::of(count, &mut Rng::new(7));
            let mut at = 0;
            let length = 1
                + (0..count)
                    .take_while(|_| {
                        at = permutation.after(at, 1);
                        at != 0
                    })
                    .count();
            assert_eq!(length, count);
            let seven = (0..7).fold(at, |at, _| permutation.after(at, 1));
            assert_eq!(permutation.after(at, 7), seven);
            assert_eq!(permutation.after(at, 7 + 5 * count), seven);
        }
    }

    /// Steps of all lengths are as frequent as in a random order, and the steps of neighbours have nothing
    /// to do with each other, or a prefetcher could follow.
    #[test]
    fn steps_look_random() {
        const PARTS: usize = 64;
        for (count, seed) in [(1 << 20, 1), (1_500_000, 2), (1 << 21, 3)] {
            let permutation = Permutation::of(count, &mut Rng::new(seed));
            let next: Vec<usize> = (0..1 << 18).map(|n| permutation.after(n, 1)).collect();
            let spread = |value: &dyn Fn(usize) -> usize| {
                let mut seen = [0_u64; PARTS];
                for n in 1..next.len() {
                    seen[value(n) % count * PARTS / count] += 1;
                }
                let expected = (next.len() - 1) as f64 / PARTS as f64;
                let of_part = |seen: u64| (seen as f64 - expected).powi(2) / expected;
                seen.into_iter().map(of_part).sum::<f64>()
            };
            // Chi-square of 63 degrees of freedom: 117 in one case of 20,000.
            let step = spread(&|n| next[n] + count - n);
            let between = spread(&|n| next[n] + count - next[n - 1]);
            let second = spread(&|n| permutation.after(next[n], 1) + count - next[n]);
            let bits = spread(&|n| (next[n] % PARTS) * count / PARTS + count / PARTS / 2);
            for found in [step, between, second, bits] {
                assert!(found < 117.0, "{count}: {found}");
            }
        }
    }
}
