//! One pass by stack distance against one pass per cache.

use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Geometry, Reference, Stack};

/// Loads with some locality; some touch two lines.
fn trace(seed: u64) -> Vec<Reference> {
    let mut rng = Rng::new(seed);
    let mut at = 0;
    (0..30_000)
        .map(|_| {
            at = match rng.below(4) {
                0 => rng.below(1 << 16) as u64,
                _ => at + rng.below(100) as u64,
            };
            Reference::load(at, 8)
        })
        .collect()
}

#[test]
fn every_associativity_at_once_is_every_associativity_in_turn() {
    for (sets, line) in [(1, 64), (16, 32), (64, 64), (12, 128)] {
        let mut stack = Stack::new(sets, line, 16).unwrap();
        let trace = trace(sets);
        let needed: Vec<usize> = trace.iter().map(|&r| stack.reference(r)).collect();
        for ways in 1..=16_usize {
            let geometry = Geometry::new(sets * line * ways as u64, ways as u64, line).unwrap();
            let mut cache = Cache::new(Design::lru(geometry));
            for (reference, &needed) in trace.iter().zip(&needed) {
                assert_eq!(cache.reference(*reference), needed <= ways);
            }
            assert_eq!(stack.misses(ways), cache.counters().misses(), "{sets} sets, {ways} ways");
        }
        assert_eq!(stack.references(), trace.len() as u64);
    }
}
