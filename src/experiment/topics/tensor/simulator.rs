//! The series' own simulation: C5.

use crate::experiment::claim::counted::{self, Counted};
use crate::experiment::prelude::*;
use crate::kernel::ReadTensor;
use crate::pattern::{Heap, Shape};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use Reads::{Flat, Indices, Nested};
use Replacement::{Lru, RoundRobin, TreePlru};

/// What a read of the tensor loads.
#[derive(Clone, Copy)]
enum Reads {
    /// The element of a flat tensor, 4 bytes each.
    Flat,
    /// The same, with its index taken for its address, as in the series' script.
    Indices,
    /// Three references of 4 bytes and the element, on a Java heap.
    Nested,
}

/// The cache of the series' simulation: KiB and ways, of 64-byte lines.
const SERIES: (u64, u64) = (64, 4);

/// The L1d of most Intel cores until 2019.
const COMMON: (u64, u64) = (32, 8);

/// Misses in an independent model (`reference/tensor_cache_sim_vectors.csv`).
static TABLE: [Counted; 8] = [
    Counted::exactly("flat, 64 KiB, round robin", 448.0, || {
        misses(Flat, SERIES, RoundRobin)
    }),
    Counted::exactly("flat, 64 KiB, LRU", 448.0, || misses(Flat, SERIES, Lru)),
    Counted::exactly("flat, 64 KiB, tree-PLRU", 448.0, || {
        misses(Flat, SERIES, TreePlru)
    }),
    Counted::exactly("flat, 32 KiB, LRU", 448.0, || misses(Flat, COMMON, Lru)),
    Counted::exactly("indices, 32 KiB, round robin", 464_526.0, || {
        misses(Indices, COMMON, RoundRobin)
    }),
    Counted::exactly("nested, 64 KiB, round robin", 168_023.0, || {
        misses(Nested, SERIES, RoundRobin)
    }),
    Counted::exactly("nested, 64 KiB, LRU", 101_073.0, || {
        misses(Nested, SERIES, Lru)
    }),
    Counted::exactly("nested, 64 KiB, tree-PLRU", 85_455.0, || {
        misses(Nested, SERIES, TreePlru)
    }),
];

pub(crate) const SIMULATOR: Experiment = Experiment {
    id: "C5",
    name: "tensor-cache-simulator",
    title: "448 misses by simulation",
    question: "How often do a million reads miss in the cache of the series' simulation, and does \
               the number depend on the replacement policy?",
    source: "mmpataki, part 7: 64 KiB, 4 ways filled in turn, lines of 64 bytes: 448 misses of \
             1,000,000; and the script behind this number",
    seen: &[],
    about: "Nothing is timed. A simulator counts the misses of a million reads for several caches \
            and replacement policies. The reads touch 448 lines, so every policy that misses each \
            line once gives 448. The script behind the post takes the index of an element for its \
            address. Nested arrays, as Java has them, do distinguish policies; their expected \
            numbers come from an independent model.",
    plot: None,
    cases: |_| counted::cases(&TABLE).collect(),
    curves: plain_curves,
    events: &[],
    claims: &[
        // The post's simulator counts 448 misses and 999,552 hits for 65,536 bytes, 4 ways and lines
        // of 64 bytes.
        simulated(
            "C5.1",
            tensor("Cache misses: cache simulator"),
            "a cache of 64 KiB and 4 ways, filled in turn, misses 448 of 1,000,000 reads of the \
             flat tensor",
            |e| counted::all(e, &TABLE[..1]),
        )
        .then(448.0, ""),
        simulated(
            "C5.2",
            ours("does the number depend on the round robin of the post?"),
            "a cache of 64 KiB and 4 ways misses 448 of 1,000,000 reads of the flat tensor under \
             LRU and under tree-PLRU",
            |e| counted::all(e, &TABLE[1..3]),
        )
        .holding("Each line misses once, so the number does not depend on the policy."),
        simulated(
            "C5.3",
            ours(
                "the post's script takes the index of an element for its address: what does this \
                 change?",
            ),
            "a cache of 32 KiB and 8 ways misses 448 of 1,000,000 reads of the flat tensor, and \
             464,526 if indices are taken for addresses",
            |e| counted::all(e, &TABLE[3..5]),
        ),
        simulated(
            "C5.4",
            ours(
                "unlike the post's reads, nested arrays distinguish policies, and so test the \
                 simulator",
            ),
            "a cache of 64 KiB and 4 ways misses 168,023 of the 4,000,000 loads of nested arrays \
             if filled in turn, 101,073 under LRU and 85,455 under tree-PLRU",
            |e| counted::all(e, &TABLE[5..]),
        ),
    ],
};

/// Misses of the reads of a pass in a cache that is empty at first.
fn misses(
    reads: Reads,
    (kib, ways): (u64, u64),
    replacement: Replacement,
) -> Result<f64, Untestable> {
    let geometry = Geometry::new(kib << 10, ways, 64)?;
    let mut cache = Cache::new(Design::lru(geometry).replacing(replacement));
    let sizes = Shape::SERIES.dimensions();
    let mut load = |offset: usize, bytes: u32| {
        cache.reference(Reference::load(offset as u64, bytes));
    };
    for read in 0..ReadTensor::PASS as usize {
        let at = sizes.map(|size| read % size);
        match reads {
            Reads::Flat => load(Shape::SERIES.place(at) * 4, 4),
            Reads::Indices => load(Shape::SERIES.place(at), 1),
            Reads::Nested => {
                for offset in Heap::COMPRESSED.path(Shape::SERIES, at) {
                    load(offset, 4);
                }
            }
        }
    }
    Ok(cache.counters().misses() as f64)
}
