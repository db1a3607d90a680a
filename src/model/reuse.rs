//! What a cache gains where data is used again: the computation that opens Drepper's section 3.

/// Data that is used again and again, and fits the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Elements, each of which memory delivers by itself.
    pub elements: u64,
    /// How often each is used.
    pub uses: u64,
}

impl Reuse {
    /// The paper's: 100 elements, 100 times each.
    pub const DREPPER: Reuse = Reuse {
        elements: 100,
        uses: 100,
    };

    /// Time without a cache, if an access to memory takes `memory`.
    pub fn without_cache(&self, memory: f64) -> f64 {
        self.elements as f64 * self.uses as f64 * memory
    }

    /// Time with a cache that answers in `cache`: the first use of an element goes to memory.
    pub fn with_cache(&self, cache: f64, memory: f64) -> f64 {
        let again = self.uses.saturating_sub(1) as f64;
        let first = self.uses.min(1) as f64;
        self.elements as f64 * (first * memory + again * cache)
    }

    /// The share of the time that the cache saves.
    pub fn saved(&self, cache: f64, memory: f64) -> f64 {
        1.0 - self.with_cache(cache, memory) / self.without_cache(memory)
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
        let once = Reuse {
            elements: 7,
            uses: 1,
        };
        assert_eq!(once.saved(15.0, 200.0), 0.0);
        let never = Reuse {
            elements: 7,
            uses: 0,
        };
        assert_eq!(never.with_cache(15.0, 200.0), 0.0);
    }
}
