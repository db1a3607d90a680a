//! Java's generators of random numbers, bit by bit, to reproduce data and indices of sources that
//! measured in Java.

/// `java.util.Random`: a linear congruential generator of 48 bits, as its documentation defines it.
///
/// ```
/// use linefill::pattern::java::Random;
/// let mut random = Random::new(42);
/// assert_eq!(random.next_int(), -1_170_105_035);
/// assert_eq!(Random::new(42).next_int_below(100), 30);
/// ```
#[doc(alias = "java.util.Random")]
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
}

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const BITS_48: u64 = (1 << 48) - 1;

impl Random {
    /// Creates the same generator as `new Random(seed)`.
    pub const fn new(seed: i64) -> Self {
        Random { seed: (seed.cast_unsigned() ^ MULTIPLIER) & BITS_48 }
    }

    /// Returns the next `bits` bits, 1 to 32, in the low bits of the number.
    #[inline]
    fn next(&mut self, bits: u32) -> u32 {
        self.seed = self.seed.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & BITS_48;
        (self.seed >> (48 - bits)) as u32
    }

    /// `nextInt()`: returns any integer of 32 bits.
    #[inline]
    pub fn next_int(&mut self) -> i32 {
        self.next(32).cast_signed()
    }

    /// `nextInt(bound)`: returns a number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0 or does not fit in an `int`.
    #[inline]
    pub fn next_int_below(&mut self, bound: u32) -> u32 {
        check(bound);
        if bound.is_power_of_two() {
            return ((u64::from(bound) * u64::from(self.next(31))) >> 31) as u32;
        }
        accepted(bound, || self.next(31))
    }

    /// `nextDouble()`: returns a number of 53 bits, at least 0 and below 1.
    #[inline]
    pub fn next_double(&mut self) -> f64 {
        let (high, low) = (u64::from(self.next(26)), u64::from(self.next(27)));
        ((high << 27) + low) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// `java.util.concurrent.ThreadLocalRandom` with a known seed: the counter of `SplittableRandom` with
/// another mix function, as in JDK 8 to 16. (JDK 17 also adds the thread's number to the seed, and treats
/// bounds that are powers of two as `Random` does.)
#[doc(alias = "java.util.concurrent.ThreadLocalRandom")]
#[derive(Clone, Debug)]
pub struct ThreadLocalRandom {
    seed: u64,
}

/// The increment of the counter per draw.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl ThreadLocalRandom {
    /// Creates a generator whose thread has the seed `seed`.
    pub const fn new(seed: u64) -> Self {
        ThreadLocalRandom { seed }
    }

    /// The thread's present seed: a generator created from it continues where this one is.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    fn next(&mut self) -> u32 {
        self.seed = self.seed.wrapping_add(GAMMA);
        let once = (self.seed ^ (self.seed >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let twice = (once ^ (once >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        (twice >> 32) as u32
    }

    /// `nextInt()`: returns any integer of 32 bits.
    #[inline]
    pub fn next_int(&mut self) -> i32 {
        self.next().cast_signed()
    }

    /// `nextInt(bound)`: returns a number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0 or does not fit in an `int`.
    #[inline]
    pub fn next_int_below(&mut self, bound: u32) -> u32 {
        check(bound);
        if bound.is_power_of_two() {
            return self.next() & (bound - 1);
        }
        accepted(bound, || self.next() >> 1)
    }
}

#[inline]
fn check(bound: u32) {
    assert!(bound > 0 && bound <= i32::MAX as u32, "a bound is 1 to 2^31 - 1, not {bound}");
}

/// Returns the remainder of the first 31-bit number that is not among the last few, which would make
/// small remainders more likely than others.
#[inline]
fn accepted(bound: u32, mut next: impl FnMut() -> u32) -> u32 {
    loop {
        let bits = next();
        let remainder = bits % bound;
        // As an `int` this would overflow.
        if bits - remainder <= i32::MAX as u32 - (bound - 1) {
            return remainder;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // All numbers were printed by OpenJDK 17.

    #[test]
    fn random_gives_the_numbers_of_java() {
        let mut random = Random::new(42);
        let ints = [0; 4].map(|_| random.next_int());
        assert_eq!(ints, [-1_170_105_035, 234_785_527, -1_360_544_799, 205_897_768]);
        let mut random = Random::new(-1);
        let ints = [0; 3].map(|_| random.next_int());
        assert_eq!(ints, [1_155_099_827, 1_887_904_451, 52_699_159]);
        let mut random = Random::new(42);
        let doubles = [0; 3].map(|_| random.next_double().to_bits());
        assert_eq!(
            doubles,
            [4_604_728_530_581_845_079, 4_604_329_149_490_933_249, 4_599_233_015_213_898_676]
        );
    }

    #[test]
    fn random_rejects_as_java_does() {
        let below = |bound: u32| {
            let mut random = Random::new(42);
            [0; 8].map(|_| random.next_int_below(bound))
        };
        assert_eq!(below(100), [30, 63, 48, 84, 70, 25, 5, 18]);
        assert_eq!(below(64), [46, 3, 43, 3, 19, 60, 17, 45]);
        assert_eq!(
            below((1 << 30) + 1),
            [
                117_392_763,
                102_948_884,
                662_969_970,
                595_021_505,
                196_118_093,
                969_067_502,
                791_955_276,
                819_572_292
            ]
        );
    }

    /// Draws as in JDK 17, which also adds twice the thread's number to the seed at each draw: the main
    /// thread's number is 1.
    fn as_in_17<T>(draw: impl Fn(&mut ThreadLocalRandom) -> T) -> [T; 4] {
        let mut random = ThreadLocalRandom::new(42);
        [0; 4].map(|_| {
            random = ThreadLocalRandom::new(random.seed() + 2);
            draw(&mut random)
        })
    }

    #[test]
    fn thread_local_random_gives_the_numbers_of_java() {
        assert_eq!(
            as_in_17(ThreadLocalRandom::next_int),
            [-520_411_581, 816_263_106, -1_796_014_155, -1_221_212_525]
        );
        let below_100 = as_in_17(|random| random.next_int_below(100));
        assert_eq!(below_100, [57, 53, 70, 85]);
        // JDK 8 takes the low bits: -520,411,581 is 3 modulo 64, and so on.
        let below_64 = as_in_17(|random| random.next_int_below(64));
        assert_eq!(below_64, [3, 2, 53, 19]);
    }

    #[test]
    fn the_last_few_numbers_are_not_taken() {
        // Nearly half of all are too large for this bound, and are drawn again.
        let bound = (1 << 30) + 1;
        let mut random = ThreadLocalRandom::new(1);
        let mut plain = random.clone();
        for _ in 0..100 {
            let drawn = random.next_int_below(bound);
            let taken = loop {
                let bits = plain.next() >> 1;
                if bits < bound {
                    break bits;
                }
            };
            assert_eq!(drawn, taken);
        }
    }

    #[test]
    fn a_generator_goes_on_from_its_seed() {
        let mut first = ThreadLocalRandom::new(7);
        first.next_int();
        let mut second = ThreadLocalRandom::new(first.seed());
        assert_eq!(first.next_int(), second.next_int());
    }

    #[test]
    #[should_panic(expected = "not 0")]
    fn a_bound_of_nothing_is_refused() {
        Random::new(1).next_int_below(0);
    }
}
