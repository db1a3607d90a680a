//! Three computations about caches: what they gain where data are reused (the opening of Drepper's section
//! 3), what two hyper-threads that share one gain or lose (Drepper 3.3.4, Figure 3.23), and the cost per
//! operation of a slowdown (Sestoft 4.1).

/// Data that are reused and fit the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// The number of elements, each of which is loaded from memory separately.
    pub elements: u64,
    /// The number of uses per element.
    pub uses: u64,
}

impl Reuse {
    /// The paper's example: 100 elements, 100 uses each.
    pub const DREPPER: Reuse = Reuse { elements: 100, uses: 100 };

    /// Returns the time without a cache, if an access to memory takes `memory`.
    pub fn without_cache(&self, memory: f64) -> f64 {
        self.elements as f64 * self.uses as f64 * memory
    }

    /// Returns the time with a cache that answers in `cache`; the first use of an element goes to
    /// memory.
    pub fn with_cache(&self, cache: f64, memory: f64) -> f64 {
        let again = self.uses.saturating_sub(1) as f64;
        let first = self.uses.min(1) as f64;
        self.elements as f64 * (first * memory + again * cache)
    }

    /// Returns the share of the time that the cache saves.
    pub fn saved(&self, cache: f64, memory: f64) -> f64 {
        1.0 - self.with_cache(cache, memory) / self.without_cache(memory)
    }
}

/// A program on a core with one level of cache, as modelled in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperThread {
    /// The share of instructions that access memory, 0 to 1: `Fmem`.
    pub accesses: f64,
    /// Time of an instruction that does not access memory: `Tproc`.
    pub instruction: f64,
    /// Time of an access that hits: `Tcache`.
    pub hit: f64,
    /// Time of an access that misses: `Tmiss`, longer than a hit.
    pub miss: f64,
}

impl HyperThread {
    /// Returns the mean time per instruction, if the share `hits` (0 to 1) of the accesses hit: `Texe /
    /// N`.
    pub fn time(&self, hits: f64) -> f64 {
        let access = hits * self.hit + (1.0 - hits) * self.miss;
        (1.0 - self.accesses) * self.instruction + self.accesses * access
    }

    /// Returns what two threads may lose of twice the hit rate of one thread: `A` in `G2 >= 2 G1 - A`.
    ///
    /// Each of two threads must take at most twice the time that one thread takes alone, and the times
    /// are linear in the hit rate. `A` is the time without any hit over the time that hits can save. It
    /// is above 1, and closer to 1 the slower memory is.
    pub fn allowance(&self) -> f64 {
        let (nothing_hits, all_hit) = (self.time(0.0), self.time(1.0));
        nothing_hits / (nothing_hits - all_hit)
    }
}

/// Returns the smallest hit rate that each of two threads needs, if one thread alone has the hit rate
/// `alone` (0 to 1). Only the [allowance](HyperThread::allowance) of the core must be known, as for the
/// paper's Pentium 4.
pub fn least_hit_rate(alone: f64, allowance: f64) -> f64 {
    (2.0 * alone - allowance).max(0.0)
}

/// A run that took longer than another run, and its operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Additional seconds of the run.
    pub seconds: f64,
    /// Operations per iteration to which the time is attributed.
    pub operations: f64,
    /// Iterations per run.
    pub iterations: f64,
    /// Threads that ran in parallel.
    pub threads: f64,
}

impl Spread {
    /// Returns the additional nanoseconds of the whole run per operation.
    pub fn wall(&self) -> f64 {
        self.seconds * 1e9 / (self.operations * self.iterations)
    }

    /// Returns the additional nanoseconds of a thread per its own operation.
    pub fn thread(&self) -> f64 {
        self.wall() * self.threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_computes_right() {
        let reuse = Reuse::DREPPER;
        assert_eq!(reuse.without_cache(200.0), 2_000_000.0);
        assert_eq!(reuse.with_cache(15.0, 200.0), 168_500.0);
        assert!((reuse.saved(15.0, 200.0) - 0.91575).abs() < 1e-12);
    }

    #[test]
    fn a_single_use_gains_nothing() {
        let once = Reuse { elements: 7, uses: 1 };
        assert_eq!(once.saved(15.0, 200.0), 0.0);
        let never = Reuse { elements: 7, uses: 0 };
        assert_eq!(never.with_cache(15.0, 200.0), 0.0);
    }

    const CORE: HyperThread = HyperThread { accesses: 0.3, instruction: 1.0, hit: 4.0, miss: 60.0 };

    #[test]
    fn at_the_least_hit_rate_two_threads_take_twice_as_long() {
        for alone in [0.6, 0.8, 0.95, 1.0] {
            let together = least_hit_rate(alone, CORE.allowance());
            let slower = CORE.time(together) / CORE.time(alone);
            assert!((slower - 2.0).abs() < 1e-12, "{alone}: {slower}");
        }
    }

    #[test]
    fn a_program_that_waits_anyway_always_gains() {
        assert_eq!(least_hit_rate(0.5, CORE.allowance()), 0.0);
        assert!(CORE.time(0.0) < 2.0 * CORE.time(0.5));
    }

    #[test]
    fn the_allowance_nears_one_as_memory_moves_away() {
        let far = HyperThread { miss: 6000.0, ..CORE };
        assert!(far.allowance() > 1.0 && far.allowance() < CORE.allowance());
    }

    #[test]
    fn threads_share_the_operations_and_not_the_time() {
        let spread = Spread { seconds: 2.0, operations: 1e6, iterations: 10.0, threads: 4.0 };
        assert_eq!(spread.wall(), 200.0);
        assert_eq!(spread.thread(), 800.0);
    }
}
