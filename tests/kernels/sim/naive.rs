//! Caches of unusual shapes against a simple reference model: one list per set.

use linefill::sim::{
    Cache, Counters, Design, Geometry, Op, Reference, Replacement, WriteHit, WriteMiss,
};
use proptest::prelude::*;

/// One line of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    line: u64,
    dirty: bool,
}

/// Sets as lists: the last line is the next victim.
struct Naive {
    line: u64,
    ways: usize,
    sets: Vec<Vec<Held>>,
    design: Design,
    counters: Counters,
}

impl Naive {
    fn new(design: Design) -> Self {
        let geometry = design.geometry;
        Naive {
            line: geometry.line(),
            ways: geometry.ways() as usize,
            sets: vec![Vec::new(); geometry.sets() as usize],
            design,
            counters: Counters::default(),
        }
    }

    fn reference(&mut self, reference: Reference) -> bool {
        let write = matches!(reference.op, Op::Store | Op::Modify);
        let last = reference.address + u64::from(reference.bytes.max(1)) - 1;
        let mut hit = true;
        for line in reference.address / self.line..=last / self.line {
            hit &= self.access(line, write);
        }
        let outcomes = match reference.op {
            Op::Fetch => &mut self.counters.fetches,
            Op::Store => &mut self.counters.writes,
            _ => &mut self.counters.reads,
        };
        match hit {
            true => outcomes.hits += 1,
            false => outcomes.misses += 1,
        }
        hit
    }

    fn access(&mut self, line: u64, write: bool) -> bool {
        let index = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[index];
        let place = set.iter().position(|held| held.line == line);
        let hit = place.is_some();
        let moves = self.design.replacement == Replacement::Lru;
        let mut at = match place {
            Some(place) if moves => {
                let held = set.remove(place);
                set.insert(0, held);
                Some(0)
            }
            place => place,
        };
        let around = write && self.design.write_miss == WriteMiss::Around;
        if !hit && !around {
            self.counters.fills += 1;
            set.insert(0, Held { line, dirty: false });
            at = Some(0);
            if set.len() > self.ways {
                self.counters.evictions += 1;
                if set.pop().unwrap().dirty {
                    self.counters.write_backs += 1;
                    self.counters.bus_writes += 1;
                }
            }
        }
        if write {
            match at {
                Some(at) if self.design.write_hit == WriteHit::Back => set[at].dirty = true,
                _ => self.counters.bus_writes += 1,
            }
        }
        hit
    }
}

fn designs() -> impl Strategy<Value = Design> {
    let shape = (1..40_u64, 1..20_u64, 3..8_u32);
    let policy = prop::sample::select(vec![Replacement::Lru, Replacement::RoundRobin]);
    let hit = prop::sample::select(vec![WriteHit::Back, WriteHit::Through]);
    let miss = prop::sample::select(vec![WriteMiss::Allocate, WriteMiss::Around]);
    // Every second cache has eight ways, for which there is specialised code.
    (shape, policy, hit, miss, any::<bool>()).prop_map(|(shape, policy, hit, miss, eight)| {
        let (sets, ways, line) = (shape.0, if eight { 8 } else { shape.1 }, 1 << shape.2);
        let geometry = Geometry::new(sets * ways * line, ways, line).unwrap();
        Design::lru(geometry).replacing(policy).writing(hit, miss)
    })
}

/// References of up to 300 bytes with some locality: many touch several lines.
fn traces() -> impl Strategy<Value = Vec<Reference>> {
    let op = prop::sample::select(vec![Op::Load, Op::Load, Op::Store, Op::Modify, Op::Fetch]);
    let bytes = prop_oneof![5 => 0..17_u32, 1 => 17..300_u32];
    let reference = (0..1_u64 << 14, bytes, op, 1..4_usize);
    prop::collection::vec(reference, 1..500).prop_map(|references| {
        references
            .into_iter()
            .flat_map(|(address, bytes, op, times)| {
                let reference = Reference { address, bytes, op };
                std::iter::repeat_n(reference, times)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_shape_counts_what_lists_count(design in designs(), trace in traces()) {
        let mut naive = Naive::new(design);
        let mut cache = Cache::new(design);
        let mut warm = Cache::new(design).with_heat();
        for &reference in &trace {
            let hit = naive.reference(reference);
            prop_assert_eq!(cache.reference(reference), hit, "{:?}", reference);
            prop_assert_eq!(warm.reference(reference), hit);
        }
        prop_assert_eq!(cache.counters(), naive.counters);
        prop_assert_eq!(warm.counters(), naive.counters);
        let mut held: Vec<u64> = cache.lines().collect();
        let mut wanted: Vec<u64> = naive.sets.iter().flatten().map(|held| held.line).collect();
        held.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(held, wanted);
    }
}
