//! Random replacement.

use super::{Entry, Policy, empty};
use crate::pattern::Rng;

/// Where the next number comes from.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    rng: Rng,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random {
            rng: Rng::new(seed),
        }
    }
}

impl Policy for Random {
    fn used(&mut self, _: usize, _: usize) {}

    #[inline]
    fn victim(&mut self, _: usize, entries: &[Entry]) -> usize {
        empty(entries).unwrap_or_else(|| self.rng.below(entries.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EMPTY;
    use super::*;

    #[test]
    fn every_way_of_a_full_set_goes_as_often() {
        let mut policy = Random::new(3);
        let mut entries = [EMPTY; 8];
        let mut filled = [0_u32; 8];
        for line in 0..8008 {
            let (way, _) = policy.reach(0, &mut entries, line << 2);
            filled[way] += 1;
        }
        // 1,001 each, give or take four standard deviations.
        assert!(
            filled.iter().all(|count| (880..1120).contains(count)),
            "{filled:?}"
        );
    }
}
