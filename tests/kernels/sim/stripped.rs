//! A stripped trace must give the same counts as the whole trace.

use linefill::sim::{
    Geometry, Hierarchy, HierarchyDesign, NotTold, Op, Reference, Stack, Stripped,
};
use proptest::prelude::*;

use super::cachegrind::kept_trace;

fn hierarchy(text: &str) -> Hierarchy {
    Hierarchy::new(&text.parse::<HierarchyDesign>().unwrap()).unwrap()
}

/// References of every kind to few lines, many to the same line as the previous reference; some touch two
/// lines.
fn traces() -> impl Strategy<Value = Vec<Reference>> {
    let op = prop_oneof![
        6 => Just(Op::Fetch),
        4 => Just(Op::Load),
        3 => Just(Op::Store),
        2 => Just(Op::Modify),
        1 => Just(Op::NonTemporalStore),
        1 => Just(Op::Prefetch),
    ];
    let reference = (0..96 * 64_u64, 1..20_u32, op, 1..5_usize);
    prop::collection::vec(reference, 1..400).prop_map(|references| {
        let again = |(address, bytes, op, times)| {
            std::iter::repeat_n(Reference { address, bytes, op }, times)
        };
        references.into_iter().flat_map(again).collect()
    })
}

/// The trace, stripped for this number of sets and ways with lines of 64 bytes.
fn stripped(sets: u64, ways: u64, trace: &[Reference]) -> Stripped {
    let smallest = Geometry::new(sets * ways * 64, ways, 64).unwrap();
    Stripped::of(smallest, trace.iter().copied())
}

/// Serves the whole trace and the stripped trace, and then the whole trace again.
fn both(text: &str, trace: &[Reference], stripped: &Stripped) -> Result<(), TestCaseError> {
    let mut whole = hierarchy(text);
    whole.references(trace);
    let mut left = hierarchy(text);
    left.stripped(stripped).unwrap();
    prop_assert_eq!(stripped.references(), trace.len() as u64);
    // The contents of the caches must be the same, too: serving the trace again must show no difference.
    for again in [false, true] {
        if again {
            left.references(trace);
            whole.references(trace);
        }
        for level in 0..2 {
            prop_assert_eq!(left.counters(level), whole.counters(level), "{}", text);
        }
        let fetches = |of: &Hierarchy| of.instructions().map(|cache| cache.counters());
        prop_assert_eq!(fetches(&left), fetches(&whole));
        prop_assert_eq!(left.memory(), whole.memory());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_is_left_for_one_way_counts_under_any_policy(
        trace in traces(),
        policy in prop::sample::select(vec!["lru", "rr", "plru", "mru", "random"]),
        ways in 1..9_u64,
        (line, sets) in prop::sample::select(
            vec![(16_u64, 1_u64), (32, 1), (64, 1), (64, 2), (64, 4)]
        ),
    ) {
        let (l1, l2) = (ways * 4 * 64, ways * 16 * 64);
        let smallest = Geometry::new(sets * line, 1, line).unwrap();
        let stripped = Stripped::of(smallest, trace.iter().copied());
        for text in [
            format!("L1i={l1}/{ways}:{policy},L1d={l1}/{ways}:{policy},L2={l2}/{ways}:{policy}"),
            format!("L1d={l1}/{ways}:{policy}"),
        ] {
            both(&text, &trace, &stripped)?;
        }
    }

    #[test]
    fn what_is_left_for_more_ways_counts_under_lru(
        trace in traces(),
        sets in 1..5_u64,
        ways in 1..6_u64,
        more_sets in 1..3_u64,
        more_ways in 0..4_u64,
        policy in prop::sample::select(vec!["lru", "rr", "plru", "random"]),
    ) {
        let stripped = stripped(sets, ways, &trace);
        let (l1d_ways, l1i_ways) = (ways + more_ways, ways);
        let l1d = l1d_ways * sets * more_sets * 64;
        let l1i = l1i_ways * sets * 64;
        let l2 = 4 * 16 * 64;
        for text in [
            format!("L1i={l1i}/{l1i_ways},L1d={l1d}/{l1d_ways},L2={l2}/4:{policy}"),
            format!("L1d={l1d}/{l1d_ways},L2={l2}/4:{policy}"),
            format!("L1d={l1i}/{l1i_ways}"),
        ] {
            both(&text, &trace, &stripped)?;
        }
    }

    #[test]
    fn one_pass_over_what_is_left_is_one_over_all(
        trace in traces(),
        ways in 1..20_u64,
        sets in 1..3_u64,
    ) {
        let mut whole = Stack::new(6, 64, ways).unwrap();
        for &reference in trace.iter().filter(|reference| reference.op != Op::Fetch) {
            whole.reference(reference);
        }
        let mut left = Stack::new(6, 64, ways).unwrap();
        left.data(&stripped(sets, 1, &trace)).unwrap();
        prop_assert_eq!(left.references(), whole.references());
        for ways in 1..=ways as usize {
            prop_assert_eq!(left.misses(ways), whole.misses(ways));
        }
    }
}

/// Stripped for caches of 64 bytes, 4 KiB, 8 KiB and 16 KiB.
#[test]
fn most_references_of_a_program_hit_in_a_small_cache() {
    let trace = kept_trace();
    for (sets, ways, share) in [(1, 1, 4), (64, 1, 8), (64, 2, 12), (64, 4, 12)] {
        let (left, all) = (stripped(sets, ways, &trace).len(), trace.len());
        assert!(left * share < all, "{left} of {all}");
    }
}

/// At the end of the address space, a line number needs all bits of its record.
#[test]
fn lines_of_any_number_are_told() {
    let at = |(line, store): (u64, bool)| match store {
        true => Reference::store(line * 8, 8),
        false => Reference::load(line * 8, 8),
    };
    let (far, last) = (1 << 60, (1 << 61) - 1);
    let lines = [
        (0, false),
        (last, false),
        (far, false),
        (last, true),
        (0, true),
        (far, true),
    ];
    let trace: Vec<_> = lines.into_iter().chain(lines).map(at).collect();
    let smallest = Geometry::new(16, 2, 8).unwrap();
    let stripped = Stripped::of(smallest, trace.iter().copied());
    both("L1d=24/3/8,L2=96/3/8", &trace, &stripped).unwrap();
}

#[test]
fn what_a_stripped_trace_does_not_tell_is_refused() {
    let load = [Reference::load(0, 8)];
    let refused_by = |text: &str, stripped: &Stripped| {
        let mut caches = hierarchy(text);
        let NotTold(what) = caches.stripped(stripped).unwrap_err();
        assert_eq!(caches.counters(0).reads.total(), 0);
        what
    };
    assert!(refused_by("L1d=4K/4", &stripped(32, 1, &load)).contains("do not divide"));
    assert!(refused_by("L1d=12K/4", &stripped(32, 1, &load)).contains("do not divide"));
    assert!(refused_by("L1d=4K/4/128", &stripped(8, 1, &load)).contains("longer"));
    assert!(refused_by("L1d=4K/4/128", &stripped(1, 2, &load)).contains("longer"));
    assert!(refused_by("L1d=4K/2", &stripped(32, 4, &load)).contains("fewer ways"));
    assert!(refused_by("L1d=4K/4:plru", &stripped(16, 2, &load)).contains("age"));
    let line = stripped(1, 1, &load);
    let refused = |text: &str| refused_by(text, &line);
    assert!(refused("L1d=4K/4/32").contains("shorter"));
    assert!(refused("L1d=4K/4:QLRU_H11_M1_R0_U0").contains("age"));
    assert!(refused("L1d=4K/4:wt").contains("stores go on"));
    assert!(refused("L1=4K/4").contains("one L1"));
    assert!(refused("L1d=4K/4:next").contains("prefetchers"));
    assert!(refused("L1d=4K/4,dTLB=4/4").contains("TLBs"));
    assert!(refused("L1d=4K/4,L2=8K/4:incl").contains("inclusive"));
    assert!(refused("L1d=4K/4,L2=8K/4:excl").contains("inclusive"));
    assert!(Stack::new(4, 32, 4).unwrap().data(&line).is_err());
    assert!(
        Stack::new(4, 64, 4)
            .unwrap()
            .data(&stripped(4, 2, &load))
            .is_err()
    );
}
