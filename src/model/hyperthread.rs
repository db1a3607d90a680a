//! When two hyper-threads pay off: Drepper 3.3.4 and Figure 3.23.

/// A program on a core with one level of cache, as the paper models both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperThread {
    /// The share of instructions that access memory: `Fmem`, 0 to 1.
    pub accesses: f64,
    /// Time of an instruction that does not: `Tproc`.
    pub instruction: f64,
    /// Time of an access that hits: `Tcache`.
    pub hit: f64,
    /// Time of an access that misses: `Tmiss`, longer than a hit.
    pub miss: f64,
}

impl HyperThread {
    /// Time of an instruction in the mean, if `hits` (0 to 1) of the accesses hit: `Texe / N`.
    pub fn time(&self, hits: f64) -> f64 {
        let access = hits * self.hit + (1.0 - hits) * self.miss;
        (1.0 - self.accesses) * self.instruction + self.accesses * access
    }

    /// What two threads may lose of twice the hit rate of one: `A` in `G2 >= 2 G1 - A`.
    ///
    /// Each of two threads must take at most twice the time that one takes alone, and the times are
    /// straight lines in the hit rate: `A` is the time without any hit over the time that hits can
    /// save. It is above 1, and the closer to 1 the further away memory is.
    pub fn allowance(&self) -> f64 {
        let (nothing_hits, all_hit) = (self.time(0.0), self.time(1.0));
        nothing_hits / (nothing_hits - all_hit)
    }

    /// The least hit rate with which each of two threads must get by, if one thread has `alone`
    /// (0 to 1).
    pub fn least(&self, alone: f64) -> f64 {
        least_hit_rate(alone, self.allowance())
    }
}

/// The same for a core of which nothing but the allowance is known, as of the paper's Pentium 4.
pub fn least_hit_rate(alone: f64, allowance: f64) -> f64 {
    (2.0 * alone - allowance).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: HyperThread = HyperThread {
        accesses: 0.3,
        instruction: 1.0,
        hit: 4.0,
        miss: 60.0,
    };

    #[test]
    fn at_the_least_hit_rate_two_threads_take_twice_as_long() {
        for alone in [0.6, 0.8, 0.95, 1.0] {
            let together = CORE.least(alone);
            let slower = CORE.time(together) / CORE.time(alone);
            assert!((slower - 2.0).abs() < 1e-12, "{alone}: {slower}");
        }
    }

    #[test]
    fn a_program_that_waits_anyway_always_gains() {
        assert_eq!(CORE.least(0.5), 0.0);
        assert!(CORE.time(0.0) < 2.0 * CORE.time(0.5));
    }

    #[test]
    fn the_allowance_nears_one_as_memory_moves_away() {
        let far = HyperThread {
            miss: 6000.0,
            ..CORE
        };
        assert!(far.allowance() > 1.0 && far.allowance() < CORE.allowance());
    }
}
