//! Properties that hold for hierarchies on any trace.

use std::collections::BTreeMap;

use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Geometry, Hierarchy, HierarchyDesign, Op, Reference};
use proptest::prelude::*;

fn hierarchy(text: &str) -> Hierarchy {
    Hierarchy::new(&text.parse::<HierarchyDesign>().unwrap()).unwrap()
}

/// References to 64 lines, of all kinds; some touch two lines.
fn traces() -> impl Strategy<Value = Vec<Reference>> {
    let op = prop_oneof![
        4 => Just(Op::Load),
        4 => Just(Op::Store),
        2 => Just(Op::Modify),
        2 => Just(Op::Fetch),
        1 => Just(Op::NonTemporalStore),
        1 => Just(Op::Prefetch),
    ];
    let reference = (0..64 * 64_u64, 1..16_u32, op).prop_map(|(address, bytes, op)| Reference {
        address,
        bytes,
        op,
    });
    prop::collection::vec(reference, 1..600)
}

/// The same; some references touch more lines than a small cache holds.
fn long_traces() -> impl Strategy<Value = Vec<Reference>> {
    (traces(), prop::collection::vec(1..300_u32, 600)).prop_map(|(mut trace, bytes)| {
        for (reference, bytes) in trace.iter_mut().zip(bytes) {
            reference.bytes = bytes;
        }
        trace
    })
}

fn lines(hierarchy: &Hierarchy, level: usize) -> Vec<u64> {
    hierarchy.levels().nth(level).unwrap().lines().collect()
}

/// Whether `one` has only lines that `other` has, too.
fn within(one: &[u64], other: &[u64]) -> bool {
    one.iter().all(|line| other.contains(line))
}

/// Whether `one` and `other` have no line in common.
fn apart(one: &[u64], other: &[u64]) -> bool {
    !one.iter().any(|line| other.contains(line))
}

fn policies() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["lru", "rr", "plru", "mru", "random", "QLRU_H00_M1_R2_U1"])
}

fn prefetchers() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", ":next", ":stride", ":stream@2"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_inclusive_level_holds_what_those_before_it_hold(
        trace in traces(), policy in policies(), prefetcher in prefetchers(),
    ) {
        let text = format!(
            "L1i=256/2:{policy},L1d=512/2:{policy}{prefetcher},L2=1K/4:{policy}:incl{prefetcher}"
        );
        let mut caches = hierarchy(&text);
        for reference in trace {
            caches.reference(reference);
            let outer = lines(&caches, 1);
            prop_assert!(within(&lines(&caches, 0), &outer), "{text}");
            let instructions: Vec<u64> = caches.instructions().unwrap().lines().collect();
            prop_assert!(within(&instructions, &outer), "{text}");
        }
    }

    #[test]
    fn an_exclusive_level_holds_nothing_that_those_before_it_hold(
        trace in traces(), policy in policies(), prefetcher in prefetchers(),
    ) {
        let text = format!(
            "L1d=512/2:{policy}{prefetcher},L2=1K/4:{policy}:excl,L3=2K/4:{policy}:excl"
        );
        let mut caches = hierarchy(&text);
        for reference in trace {
            caches.reference(reference);
            let [l1, l2, l3] = [0, 1, 2].map(|level| lines(&caches, level));
            prop_assert!(apart(&l1, &l2) && apart(&l2, &l3) && apart(&l1, &l3));
        }
    }

    /// An exclusive level between others. A line that was just evicted for one line of a reference may be
    /// requested by the next line, requested by a prefetcher, or evicted from the last level, before it has
    /// arrived.
    #[test]
    fn a_line_on_its_way_to_an_exclusive_level_is_in_one_place(
        trace in long_traces(), policy in policies(), prefetcher in prefetchers(),
        last in prop::sample::select(vec!["1K/4:incl", "1K/4:excl"]),
    ) {
        let text = format!("L1d=128/2:{policy}{prefetcher},L2=256/2:{policy}:excl,L3={last}");
        let mut caches = hierarchy(&text);
        for reference in trace {
            caches.reference(reference);
            let [l1, l2, l3] = [0, 1, 2].map(|level| lines(&caches, level));
            prop_assert!(apart(&l1, &l2), "{text}");
            if last.ends_with("incl") {
                prop_assert!(within(&l1, &l3) && within(&l2, &l3), "{text}");
            } else {
                prop_assert!(apart(&l1, &l3) && apart(&l2, &l3), "{text}");
            }
        }
    }

    /// The counts of a hierarchy must be consistent.
    #[test]
    fn no_reference_is_lost_and_no_line_appears_from_nowhere(
        trace in traces(),
        policy in policies(),
        inclusion in prop::sample::select(vec!["ni", "incl"]),
        write in prop::sample::select(vec!["wb", "wt", "wb:nwa", "wt:nwa"]),
    ) {
        let text = format!("L1=512/2:{policy}:{write},L2=2K/4:{policy}:{inclusion}");
        let mut caches = hierarchy(&text);
        caches.references(&trace);
        let (l1, l2) = (caches.counters(0), caches.counters(1));
        prop_assert_eq!((l1.demand() + l1.prefetches).total(), trace.len() as u64);
        for (level, counters) in [(0, l1), (1, l2)] {
            let held = lines(&caches, level).len() as u64;
            prop_assert_eq!(held, counters.fills - counters.evictions - counters.invalidations);
            prop_assert!(counters.write_backs <= counters.bus_writes);
        }
        // L1 passes only its misses to L2, and stores that go through it.
        let asked = (l2.demand() + l2.prefetches).total();
        let passed = trace.iter().filter(|reference| reference.op == Op::NonTemporalStore).count();
        let missed = l1.misses() + l1.prefetches.misses - passed as u64;
        let stores = trace.iter().filter(|r| matches!(r.op, Op::Store | Op::Modify)).count();
        prop_assert!(missed <= asked && asked <= missed + stores as u64, "{text}");
    }

    /// No stored bytes are lost: each line that was stored to is dirty in a level, or was written to memory.
    #[test]
    fn every_line_stored_to_is_dirty_somewhere_or_was_written_to_memory(trace in traces()) {
        for text in [
            "L1d=512/2,L2=1K/4",
            "L1d=512/2,L2=1K/4:incl",
            "L1d=512/2,L2=1K/4:excl",
            "L1d=512/2:wt,L2=1K/4",
            "L1d=512/2:nwa,L2=1K/4:incl,L3=2K/8",
            "L1d=512/2,L2=1K/4:incl,L3=2K/8:excl",
        ] {
            let mut caches = hierarchy(text);
            let mut stored: BTreeMap<u64, u64> = BTreeMap::new();
            for &reference in &trace {
                caches.reference(reference);
                if matches!(reference.op, Op::Store | Op::Modify) {
                    for line in reference.address / 64..=reference.last() / 64 {
                        *stored.entry(line).or_default() += 1;
                    }
                }
            }
            let before = caches.memory().writes;
            let dirty = caches.clean();
            let passed = trace.iter().any(|r| r.op == Op::NonTemporalStore);
            prop_assert!(passed || before + dirty >= stored.len() as u64, "{text}");
            prop_assert_eq!(caches.memory().writes, before + dirty, "{}", text);
            prop_assert_eq!(caches.clean(), 0, "{}", text);
            let most: u64 = stored.values().sum();
            prop_assert!(passed || before + dirty <= most, "{text}");
        }
    }
}

/// Compares several levels on a long trace with the levels alone: the first level does not depend on the
/// second.
#[test]
fn a_level_behind_changes_nothing_before_it_unless_it_is_inclusive() {
    let mut rng = Rng::new(11);
    let trace: Vec<Reference> =
        (0..20_000).map(|_| Reference::load((rng.below(300) * 64) as u64, 8)).collect();
    let mut alone = hierarchy("L1d=8K/8");
    alone.references(&trace);
    for behind in ["L2=16K/4", "L2=16K/4:excl", "L2=4K/4"] {
        let mut both = hierarchy(&format!("L1d=8K/8,{behind}"));
        both.references(&trace);
        assert_eq!(both.counters(0), alone.counters(0), "{behind}");
        assert_eq!(both.counters(1).demand().total(), alone.counters(0).misses());
    }
    // An exclusive pair of caches holds 24 KiB together, so each of 300 lines (18.75 KiB) misses only once.
    let mut pair = hierarchy("L1d=8K/full,L2=16K/full:excl");
    pair.references(&trace);
    assert_eq!(pair.memory().reads, 300);
    // A second level as small as the first is nearly useless if it must hold the same lines.
    let mut small = hierarchy("L1d=8K/full,L2=8K/full:incl");
    small.references(&trace);
    let (first, second) = (small.counters(0).misses(), small.counters(1).misses());
    assert!(second * 100 >= first * 99, "{second} of {first}");
}

/// L1d and an exclusive L2 hold 24 lines together. A walk over 23 reads each from memory only once, and so does
/// the prefetcher of L1d with the line behind the last.
#[test]
fn victims_wait_while_a_prefetcher_is_served() {
    let mut caches = hierarchy("L1d=512/full:next,L2=1K/full:excl");
    for _ in 0..50 {
        for line in 0..23 {
            caches.reference(Reference::load(line * 64, 8));
        }
    }
    assert_eq!(caches.memory().reads, 24);
}

#[test]
fn a_sweep_costs_a_stream_prefetcher_a_few_misses_a_page() {
    let sweep: Vec<Reference> =
        (0..64 << 10).step_by(64).map(|address| Reference::load(address, 8)).collect();
    let count = |text: &str| {
        let mut caches = hierarchy(text);
        caches.references(&sweep);
        (caches.counters(0).misses(), caches.counters(0).useful)
    };
    assert_eq!(count("L1d=32K/8"), (1024, 0));
    // Only the first line misses; the access to each line prefetches the next.
    assert_eq!(count("L1d=32K/8:next"), (1, 1023));
    // Three lines of each of 16 pages miss until the stream is detected.
    assert_eq!(count("L1d=32K/8:stream@4"), (48, 976));
    // The first load records the address, the second the stride, and the third confirms it.
    assert_eq!(count("L1d=32K/8:stride"), (3, 1021));
}

#[test]
fn non_temporal_stores_leave_no_line_and_meet_in_buffers() {
    let mut caches = hierarchy("L1d=32K/8,L2=1M/8");
    for address in (0..4096).step_by(16) {
        caches.reference(Reference::load(address, 8));
    }
    assert_eq!(lines(&caches, 0).len(), 64);
    for address in (0..4096).step_by(16) {
        let op = Op::NonTemporalStore;
        caches.reference(Reference { address, bytes: 16, op });
    }
    assert!(lines(&caches, 0).is_empty() && lines(&caches, 1).is_empty());
    // Four stores to a line become one write.
    assert_eq!(caches.memory().writes, 64);
    // One store to each of 20 lines in turn, repeatedly: there are only 10 buffers, so no stores combine.
    for round in 0..4 {
        for line in 0..20 {
            let reference = Reference {
                address: (1 << 20) + line * 64 + round * 16,
                bytes: 16,
                op: Op::NonTemporalStore,
            };
            caches.reference(reference);
        }
    }
    assert_eq!(caches.memory().writes, 64 + 80);
    // Over two lines: both dirty ones are written back, and both pass a buffer.
    let mut caches = hierarchy("L1d=32K/8");
    caches.reference(Reference::store(0, 8));
    caches.reference(Reference::store(64, 8));
    caches.reference(Reference { address: 32, bytes: 64, op: Op::NonTemporalStore });
    assert_eq!(caches.counters(0).write_backs, 2);
    assert_eq!(caches.memory().writes, 4);
}

/// A reference that repeats the one before is counted per set, too.
#[test]
fn heat_that_begins_late_counts_all_that_follows() {
    let mut cache = Cache::new(Design::lru(Geometry::new(32 << 10, 8, 64).unwrap()));
    cache.reference(Reference::load(0, 8));
    let mut cache = cache.with_heat();
    cache.reference(Reference::load(0, 8));
    assert_eq!(cache.heat()[0].accesses, 1);
}

#[test]
fn the_tlb_counts_pages() {
    let mut caches = hierarchy("L1d=32K/8,dTLB=4/4,STLB=8/8");
    let round: Vec<Reference> = (0..6).map(|page| Reference::load(page << 12, 8)).collect();
    caches.references(&round);
    caches.references(&round);
    let tlb = caches.tlb().unwrap();
    // Six pages in turn: with LRU, four entries hold none of them, and eight hold all.
    assert_eq!(tlb.first().misses, 12);
    assert_eq!((tlb.second().misses, tlb.walks()), (6, 6));
    // An access across a page boundary needs both pages.
    caches.reference(Reference::load((9 << 12) - 4, 8));
    assert_eq!(caches.tlb().unwrap().first().total(), 13);
}

#[test]
fn fetches_go_where_the_design_says() {
    let trace = [Reference::fetch(0, 4), Reference::load(4096, 8)];
    for (text, fetched, loaded) in
        [("L1i=1K/2,L1d=1K/2,L2=4K/4", 0, 1), ("L1=1K/2,L2=4K/4", 1, 1), ("L1d=1K/2,L2=4K/4", 0, 1)]
    {
        let mut caches = hierarchy(text);
        caches.references(&trace);
        let first = caches.counters(0);
        assert_eq!((first.fetches.misses, first.reads.misses), (fetched, loaded), "{text}");
        let known = caches.counters(1).fetches.total();
        assert_eq!(known, u64::from(!text.starts_with("L1d")), "{text}");
    }
}

/// A line is clean after a write-back. The next store to it must make it dirty again.
#[test]
fn a_line_that_was_cleaned_becomes_dirty_again() {
    let mut caches = hierarchy("L1=512/2,L2=2K/4");
    for _ in 0..3 {
        caches.reference(Reference::store(64, 8));
        assert_eq!(caches.clean(), 1);
        assert_eq!(caches.clean(), 0);
    }
}

/// Two short lines of L1d are one line of memory.
#[test]
fn short_lines_are_written_back_as_one_long_line() {
    let mut caches = hierarchy("L1d=512/2/64,L2=2K/4/128");
    for address in [0, 64, 128] {
        caches.reference(Reference::store(address, 8));
    }
    assert_eq!(caches.clean(), 2);
    assert_eq!(caches.memory().writes, 2);
}
