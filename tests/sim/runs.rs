//! A trace as runs counts what its references count.

use linefill::sim::{Hierarchy, HierarchyDesign, NotByRuns, Op, Reference, Runs, Stack};
use proptest::prelude::*;

use super::cachegrind::kept_trace;

fn hierarchy(text: &str) -> Hierarchy {
    Hierarchy::new(&text.parse::<HierarchyDesign>().unwrap()).unwrap()
}

/// References of every kind to few lines, many of them to the one before; some touch two.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn runs_count_what_references_count(
        trace in traces(),
        policy in prop::sample::select(vec!["lru", "rr", "plru", "mru", "random"]),
        ways in 1..9_u64,
        (line, sets) in prop::sample::select(vec![(16_u64, 1_u64), (32, 1), (64, 1), (64, 2), (64, 4)]),
    ) {
        let (l1, l2) = (ways * 4 * 64, ways * 16 * 64);
        for text in [
            format!("L1i={l1}/{ways}:{policy},L1d={l1}/{ways}:{policy},L2={l2}/{ways}:{policy}"),
            format!("L1d={l1}/{ways}:{policy}"),
        ] {
            let mut one_by_one = hierarchy(&text);
            one_by_one.references(&trace);
            let mut by_runs = hierarchy(&text);
            let runs = Runs::of(line, sets, trace.iter().copied()).unwrap();
            by_runs.runs(&runs).unwrap();
            prop_assert_eq!(runs.references(), trace.len() as u64);
            for level in 0..2 {
                prop_assert_eq!(by_runs.counters(level), one_by_one.counters(level), "{}", text);
            }
            let fetches = |of: &Hierarchy| of.instructions().map(|cache| cache.counters());
            prop_assert_eq!(fetches(&by_runs), fetches(&one_by_one));
            prop_assert_eq!(by_runs.memory(), one_by_one.memory());
            // What lies in the caches is the same, too: what follows finds no difference.
            by_runs.references(&trace);
            one_by_one.references(&trace);
            prop_assert_eq!(by_runs.counters(0), one_by_one.counters(0));
        }
    }

    #[test]
    fn one_pass_over_runs_is_one_over_references(
        trace in traces(),
        ways in 1..20_u64,
        sets in 1..3_u64,
    ) {
        let mut one_by_one = Stack::new(6, 64, ways).unwrap();
        for &reference in trace.iter().filter(|reference| reference.op != Op::Fetch) {
            one_by_one.reference(reference);
        }
        let mut by_runs = Stack::new(6, 64, ways).unwrap();
        by_runs.data(&Runs::of(64, sets, trace.iter().copied()).unwrap()).unwrap();
        prop_assert_eq!(by_runs.references(), one_by_one.references());
        for ways in 1..=ways as usize {
            prop_assert_eq!(by_runs.misses(ways), one_by_one.misses(ways));
        }
    }
}

/// The program's trace is a third as long in one set, and a fifth in those of an L1.
#[test]
fn most_references_of_a_program_touch_the_line_used_last_in_its_set() {
    let trace = kept_trace();
    for (sets, share) in [(1, 3), (64, 5)] {
        let runs = Runs::of(64, sets, trace.iter().copied()).unwrap();
        let (runs, references) = (runs.len(), trace.len());
        assert!(runs * share < references, "{runs} of {references}");
    }
}

#[test]
fn what_runs_do_not_tell_is_refused() {
    let runs = |sets| Runs::of(64, sets, [Reference::load(0, 8)]).unwrap();
    let refused_by = |text: &str, runs: &Runs| {
        let mut caches = hierarchy(text);
        let NotByRuns(what) = caches.runs(runs).unwrap_err();
        assert_eq!(caches.counters(0).reads.total(), 0);
        what
    };
    assert!(refused_by("L1d=4K/4", &runs(32)).contains("do not divide"));
    assert!(refused_by("L1d=12K/4", &runs(32)).contains("do not divide"));
    assert!(refused_by("L1d=4K/4/128", &runs(8)).contains("longer"));
    let runs = runs(1);
    let refused = |text: &str| refused_by(text, &runs);
    assert!(refused("L1d=4K/4/32").contains("shorter"));
    assert!(refused("L1d=4K/4:QLRU_H11_M1_R0_U0").contains("age"));
    assert!(refused("L1d=4K/4:wt").contains("stores go on"));
    assert!(refused("L1=4K/4").contains("one L1"));
    assert!(refused("L1d=4K/4:next").contains("prefetchers"));
    assert!(refused("L1d=4K/4,dTLB=4/4").contains("TLBs"));
    assert!(refused("L1d=4K/4,L2=8K/4:incl").contains("inclusive"));
    assert!(refused("L1d=4K/4,L2=8K/4:excl").contains("inclusive"));
    for (line, sets) in [(48, 1), (64, 0), (64, 3), (64, 1 << 21)] {
        assert!(Runs::of(line, sets, []).is_err(), "{line} {sets}");
    }
    assert!(Stack::new(4, 32, 4).unwrap().data(&runs).is_err());
}
