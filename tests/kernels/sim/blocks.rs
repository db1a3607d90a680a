//! References served in blocks must have the same effect as references served one by one.

use linefill::sim::{Cache, Hierarchy, HierarchyDesign, Op, Reference};
use proptest::prelude::*;

/// Caches whose references the simulator serves by specialised code, by other specialised code, and one by
/// one.
const DESIGNS: &[&str] = &[
    // Eight ways everywhere, as in cachegrind.
    "L1i=4K/8,L1d=4K/8,L2=16K/8",
    "L1d=4K/8,L2=16K/8,L3=32K/8",
    "L1i=1K/8,L1d=8K/8",
    "L1i=512/8,L1d=512/8,L2=2K/8",
    // Two sets, so that a wrong order of use soon replaces a wrong line.
    "L1i=1K/8,L1d=1K/8,L2=2K/8",
    "L1i=2K/8/32,L1d=4K/8/32,L2=16K/8/128",
    "L1d=32K/8/8",
    // Other caches whose state a hit does not change.
    "L1i=4K/8,L1d=6K/12,L2=16K/8",
    "L1i=4K/8,L1d=4K/8,L2=16K/16",
    "L1i=3K/4:plru,L1d=3K/2:rr,L2=16K/4:mru",
    "L1i=4K/8:random,L1d=4K/8,L2=16K/8:wt",
    "L1d=3K/8,L2=6K/8:nwa",
    "L1i=4K/8,L1d=4K/8,L2=16K/8:QLRU_H00_M1_R2_U1",
    // Caches in which a hit changes more.
    "L1i=4K/8:QLRU_H11_M1_R0_U0,L1d=4K/8,L2=16K/8",
    "L1i=4K/8,L1d=4K/8:wt,L2=16K/8",
    "L1i=4K/8,L1d=4K/8:nwa,L2=16K/8",
    "L1=4K/8,L2=16K/8",
    "L1i=4K/8/32,L1d=4K/8,L2=16K/8",
    "L1i=4K/8,L1d=4K/8,L2=8K/8:incl",
    "L1i=4K/8,L1d=4K/8,L2=8K/8:excl",
    "L1i=4K/8,L1d=4K/8:next,L2=16K/8",
    "L1i=4K/8,L1d=4K/8,L2=16K/8,dTLB=4/4",
];

fn hierarchy(text: &str) -> Hierarchy {
    Hierarchy::new(&text.parse::<HierarchyDesign>().unwrap()).unwrap()
}

/// A part of a program.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Consecutive instructions.
    Run { from: u64, bytes: u32, length: u64 },
    /// Any other reference.
    One(Reference),
}

/// Runs of instructions, most of which begin in few places, and data accesses near each other.
fn traces() -> impl Strategy<Value = Vec<Reference>> {
    let run = (0..6_u64, 0..400_u64, 1..9_u32, 1..40_u64);
    let run = run.prop_map(|(place, from, bytes, length)| Piece::Run {
        from: place * 4096 + from,
        bytes,
        length,
    });
    let op = prop_oneof![
        6 => Just(Op::Load),
        6 => Just(Op::Store),
        3 => Just(Op::Modify),
        1 => Just(Op::Prefetch),
        1 => Just(Op::Fetch),
    ];
    let address = prop_oneof![
        6 => 0..512_u64,
        3 => 0..20_000_u64,
        1 => (0..5_u64, 0..64_u64).prop_map(|(page, at)| page * 4096 + at),
        1 => (0..80_u64).prop_map(|below| u64::MAX - below),
    ];
    let bytes = prop_oneof![9 => 1..17_u32, 1 => Just(0), 1 => 17..300_u32];
    let one = (address, bytes, op)
        .prop_map(|(address, bytes, op)| Piece::One(Reference { address, bytes, op }));
    let past = (0..512_u64)
        .prop_map(|address| Piece::One(Reference { address, bytes: 8, op: Op::NonTemporalStore }));
    let piece = prop_oneof![20 => run, 60 => one, 1 => past];
    prop::collection::vec(piece, 1..300).prop_map(|pieces| {
        let mut trace = Vec::new();
        for piece in pieces {
            match piece {
                Piece::One(reference) => trace.push(reference),
                Piece::Run { from, bytes, length } => trace.extend(
                    (0..length).map(|at| Reference::fetch(from + at * u64::from(bytes), bytes)),
                ),
            }
        }
        trace
    })
}

/// The lines of a cache, which are right only if all victims were right.
fn lines(cache: &Cache) -> Vec<u64> {
    let mut lines: Vec<u64> = cache.lines().collect();
    lines.sort_unstable();
    lines
}

fn assert_alike(text: &str, one: &Hierarchy, other: &Hierarchy) {
    assert_eq!(one.memory(), other.memory(), "{text}");
    let caches = |hierarchy: &Hierarchy| -> Vec<Cache> {
        let own = hierarchy.instructions().cloned();
        own.into_iter().chain(hierarchy.levels().cloned()).collect()
    };
    for (one, other) in caches(one).iter().zip(&caches(other)) {
        assert_eq!(one.counters(), other.counters(), "{text}");
        assert_eq!(lines(one), lines(other), "{text}");
        assert_eq!(one.heat(), other.heat(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn many_at_a_time_are_served_as_one_by_one(
        trace in traces(), parts in 1..4_usize, heat in any::<bool>(),
    ) {
        for text in DESIGNS {
            let new = || match heat {
                true => hierarchy(text).with_heat(),
                false => hierarchy(text),
            };
            let (mut many, mut each) = (new(), new());
            // Each part starts with the state that the previous part left, also where single references
            // follow.
            for part in trace.chunks(trace.len().div_ceil(parts)) {
                many.references(part);
                for &reference in part {
                    each.reference(reference);
                }
                assert_alike(text, &many, &each);
                for &reference in part.iter().take(20) {
                    assert_eq!(many.reference(reference), each.reference(reference), "{text}");
                }
                assert_alike(text, &many, &each);
            }
            // The number of dirty lines.
            assert_eq!(many.clean(), each.clean(), "{text}");
        }
    }
}

/// A reference to two lines uses the second one, even if the first one was used last in its set.
#[test]
fn the_second_line_of_a_reference_is_used_last() {
    let text = "L1i=1K/8,L1d=1K/8,L2=2K/8";
    let load = |line: u64| Reference::load(64 * line, 8);
    // All ways of the set of odd lines, 15 used last. Then 12 and 13, then 15 again.
    let mut trace: Vec<Reference> = (0..8).map(|index| load(2 * index + 1)).collect();
    trace.extend([load(12), Reference::load(64 * 13 - 4, 8), load(15)]);
    // Seven lines that replace 1 to 11 and then the older of 13 and 15.
    trace.extend((8..15).map(|index| load(2 * index + 1)));
    // Enough references to be served as a block.
    trace.extend([load(12); 64]);
    let (mut many, mut each) = (hierarchy(text), hierarchy(text));
    many.references(&trace);
    for &reference in &trace {
        each.reference(reference);
    }
    assert_alike(text, &many, &each);
    let held = lines(many.levels().next().unwrap());
    assert!(held.contains(&15) && !held.contains(&13), "{held:?}");
}
