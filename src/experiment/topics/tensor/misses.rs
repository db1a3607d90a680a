//! C4, C5 and C6, misses of the reads of a tensor: pages, lines, and the series' own simulation.

use crate::cpu::PageSize;
use crate::experiment::prelude::*;
use crate::experiment::shared::count::{CountSetup, Counted};
use crate::experiment::topics::tensor::setups::{Tally, TensorSetup};
use crate::experiment::topics::tensor::{
    BOXES, FLAT, NESTED, STRIDES, UNCHECKED, exactly, l1d, only, over, tally,
};
use crate::host::Event;
use crate::kernel::{Get, ReadTensor};
use crate::pattern::{Allocation, Heap, Shape, Storage};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use Reads::{Flat, Indices, Nested};
use Replacement::{Lru, RoundRobin, TreePlru};

const HUGE: usize = PageSize::Mib2.bytes() as usize;

const FLAT_4: &str = "pages of 4 KiB, flat";
const NESTED_4: &str = "pages of 4 KiB, nested";
const FLAT_2: &str = "pages of 2 MiB, flat";
const NESTED_2: &str = "pages of 2 MiB, nested";
const PAGE_MISSES: &str = "dTLB load misses of an operation counted, flat in pages of 2 MiB";

pub(crate) const PAGES: Experiment = Experiment {
    id: "C4",
    name: "tensor-tlb-bound",
    title: "Pages that the reads need in a TLB",
    question: "How many pages do the reads touch, and how often does the TLB miss?",
    source: "mmpataki, part 7: 3 pages of 2 MiB for the array, 1 for the stack, 4 for the code; \
             26.4 dTLB load misses per operation nested, 6.8 flat",
    about: "The experiment counts, in the kernels' traces, the pages that the reads of references \
            and elements touch, starting at a page of 2 MiB. Nothing is timed. The flat tensor \
            touches one in eight of its pages of 4 KiB. These are more than the entries of most \
            first-level dTLBs, and far fewer than those of the second level, so page walks are \
            needed once and not again in each operation.",
    cases: |_| {
        let mut cases: Vec<Case> = [
            (FLAT_4, STRIDES, PAGE),
            (NESTED_4, UNCHECKED, PAGE),
            (FLAT_2, STRIDES, HUGE),
            (NESTED_2, UNCHECKED, HUGE),
        ]
        .into_iter()
        .map(|(series, of, page)| tally(series, 0.0, of, Tally::Units(page)))
        .collect();
        let counted = Tally::Counted(Event::DTLB_LOAD_MISSES);
        cases.push(tally(PAGE_MISSES, 0.0, STRIDES, counted).in_huge_pages());
        cases
    },
    claims: &[
        // The array cannot fit a page of 2 MB: it spans at most 3, which are 3 misses of the dTLB.
        computed(
            "C4.1",
            tensor("TLB misses"),
            "the reads of the tensor touch 2 or 3 pages of 2 MiB, in the flat and in the nested \
             layout",
            |e| {
                let pages = |series, least, most| between(series, only(e, series), least, most);
                all_of([pages(FLAT_2, 2.0, 3.0), pages(NESTED_2, 2.0, 3.0)])
            },
        )
        .then(3.0, ""),
        // About 8 misses of all TLBs were predicted, 6.8 load misses of the dTLB counted.
        counted(
            "C4.2",
            tensor("TLB misses; The 60% performance gain"),
            "in pages of 2 MiB, an operation on the flat tensor has fewer than 50 dTLB load misses",
            |e| between(PAGE_MISSES, only(e, PAGE_MISSES), 0.0, 50.0),
        )
        .then(6.784, "i7-9750H"),
        computed(
            "C4.3",
            ours(
                "the post counts pages of 2 MiB: how many pages of 4 KiB, which it began with, do \
                 the reads touch?",
            ),
            "the reads touch 112 pages of 4 KiB of the flat tensor and 182 of the nested tensor",
            |e| all_of([exactly(e, FLAT_4, 0.0, 112.0), exactly(e, NESTED_4, 0.0, 182.0)]),
        ),
    ],
    ..Experiment::PLAIN
};

const SIMULATED: &str = "L1d misses of a first operation simulated, flat";
const LATER: &str = "L1d misses of a later operation simulated, flat";
const COUNTED: &str = "L1d load misses of an operation counted, flat";
const ON_35_PAGES: &str = "flat, 448 lines of 35 pages";
const ON_1_PAGE: &str = "flat, 9 lines of 1 page";
const SHARED: &str = "nested boxes, shared";

const OTHERS: &str = "other loads and stores per miss beyond 448, in the post";

/// The post's counts per operation on the flat tensor (`reference/tensor_perfnorm.csv`).
struct Post {
    loads: f64,
    stores: f64,
    misses: f64,
}

const POST: Post = Post { loads: 1_008_458.441, stores: 5_928.029, misses: 7_309.383 };

impl Post {
    /// Returns the loads and stores that the million reads do not make.
    fn others(&self) -> f64 {
        self.loads - f64::from(ReadTensor::PASS) + self.stores
    }
}

pub(crate) const MYSTERY: Experiment = Experiment {
    id: "C6",
    name: "tensor-d-cache-mystery",
    title: "7,309 misses where 448 suffice",
    question: "How many misses of L1d do the reads need, and what do the additional misses cost?",
    source: "mmpataki, part 7: 448 misses per operation in a simulation, 7,309 counted; the post \
             leaves the difference open",
    about: "The reads touch 448 lines, so an empty cache misses 448 times. A cache with room for \
            all lines and LRU replacement misses none in later operations. Misses counted there \
            have other causes: the post's own table has 8,458 loads and 5,928 stores per \
            operation that the reads do not make, from interrupts and the harness. In 32 KiB of 8 \
            ways, the 448 lines fill all ways of some sets; one additional line there evicts them \
            one after the other. The 64 KiB of the post's simulation have room for additional \
            lines.",
    cases: |machine| {
        let mut cases = Vec::new();
        if let Some(l1d) = l1d(machine) {
            cases.push(tally(SIMULATED, 0.0, STRIDES, Tally::Misses(l1d)));
            cases.push(tally(LATER, 0.0, STRIDES, Tally::LaterMisses(l1d)));
        }
        cases.push(tally(COUNTED, 0.0, STRIDES, Tally::Counted(Event::L1D_LOAD_MISSES)));
        let others = |_| Ok(POST.others() / (POST.misses - 448.0));
        cases.push(CountSetup::computed(OTHERS, 0, others).at(0.0));
        for (series, setup) in [
            (FLAT, STRIDES),
            (ON_35_PAGES, of_shape([80, 1, 28, 16])),
            (ON_1_PAGE, of_shape([137, 1, 1, 1])),
            (NESTED, BOXES),
            (SHARED, TensorSetup::nested(Storage::Boxes(Allocation::Shared), Get::Boxes)),
        ] {
            cases.push(Case::new(series, 0.0, setup));
        }
        cases
    },
    events: events::PRODUCT,
    claims: &[
        simulated(
            "C6.1",
            ours(
                "the post simulates 64 KiB: how many misses have the first and the later \
                 operations in this machine's L1d?",
            ),
            "in L1d as CPUID describes it, a first operation on the flat tensor misses 448 times, \
             once per line, and a later one never",
            |e| all_of([exactly(e, SIMULATED, 0.0, 448.0), exactly(e, LATER, 0.0, 0.0)]),
        ),
        // The post is not content with the misses of L1d: 7,309 counted, 448 simulated.
        counted(
            "C6.2",
            tensor("Concluding remarks"),
            "by the CPU's counters, an operation on the flat tensor misses L1d more than 4,480 \
             times, ten times the number of its lines",
            |e| at_least(COUNTED, only(e, COUNTED), 4480.0),
        )
        .then(7309.0, "i7-9750H"),
        computed(
            "C6.3",
            ours(
                "the post leaves the cause of the misses open: its own table counts loads and \
                 stores that the reads do not make",
            ),
            "the post counted at least one load or store beyond those of the reads for each miss \
             beyond 448",
            |e| at_least(OTHERS, only(e, OTHERS), 1.0),
        ),
        measured(
            "C6.4",
            ours(
                "what the misses cost can be told without counters, by the same instructions on \
                 fewer lines and pages",
            ),
            "a read of the flat tensor takes less than 1.25 times as long as a read that finds \
             everything in 9 lines of 1 page",
            |e| at_most("448 lines of 112 pages over 9 lines of 1", over(e, FLAT, ON_1_PAGE), 1.25),
        ),
        measured(
            "C6.5",
            ours(
                "what the misses cost can be told without counters, by the same instructions on \
                 fewer lines and pages",
            ),
            "a read of the nested tensor takes more than 1.3 times as long as a read by the same \
             instructions on shared arrays",
            |e| at_least("boxes over shared boxes", over(e, NESTED, SHARED), 1.3),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the flat tensor's reads with another shape. The instructions are the same; the strides
/// decide which lines are read.
fn of_shape(dimensions: [u16; 4]) -> TensorSetup {
    TensorSetup { shape: Shape::new(dimensions).expect("no dimension is 0"), ..STRIDES }
}

/// The loads of a read of the tensor.
#[derive(Clone, Copy)]
enum Reads {
    /// The 4-byte element of a flat tensor.
    Flat,
    /// One byte, at the element's index taken for its address, as in the series' script.
    Indices,
    /// Three references of 4 bytes and the element, on a Java heap.
    Nested,
}

/// The cache of the series' simulation: KiB and ways, with 64-byte lines.
const SERIES: (u64, u64) = (64, 4);

/// The L1d of most Intel cores until 2019.
const COMMON: (u64, u64) = (32, 8);

/// Simulations, with the misses in an independent model (`reference/tensor_cache_sim_vectors.csv`).
static TABLE: [Counted; 8] = [
    Counted::exactly("flat, 64 KiB, round robin", 448.0, || misses(Flat, SERIES, RoundRobin)),
    Counted::exactly("flat, 64 KiB, LRU", 448.0, || misses(Flat, SERIES, Lru)),
    Counted::exactly("flat, 64 KiB, tree-PLRU", 448.0, || misses(Flat, SERIES, TreePlru)),
    Counted::exactly("flat, 32 KiB, LRU", 448.0, || misses(Flat, COMMON, Lru)),
    Counted::exactly("indices, 32 KiB, round robin", 464_526.0, || {
        misses(Indices, COMMON, RoundRobin)
    }),
    Counted::exactly("nested, 64 KiB, round robin", 168_023.0, || {
        misses(Nested, SERIES, RoundRobin)
    }),
    Counted::exactly("nested, 64 KiB, LRU", 101_073.0, || misses(Nested, SERIES, Lru)),
    Counted::exactly("nested, 64 KiB, tree-PLRU", 85_455.0, || misses(Nested, SERIES, TreePlru)),
];

pub(crate) const SIMULATOR: Experiment = Experiment {
    id: "C5",
    name: "tensor-cache-simulator",
    title: "448 misses by simulation",
    question: "How often do a million reads miss in the cache of the series' simulation, and does \
               the number depend on the replacement policy?",
    source: "mmpataki, part 7: 64 KiB, 4 ways filled in turn, lines of 64 bytes: 448 misses of \
             1,000,000; and the script behind this number",
    about: "Nothing is timed. A simulator counts the misses of a million reads for several caches \
            and replacement policies. The reads touch 448 lines, so every policy that misses each \
            line once gives 448. The script behind the post takes the index of an element for its \
            address. Nested arrays, as Java has them, do distinguish policies; their expected \
            numbers come from an independent model.",
    cases: |_| Counted::cases(&TABLE).collect(),
    claims: &[
        // The post's simulator counts 448 misses and 999,552 hits for 65,536 bytes, 4 ways and lines
        // of 64 bytes.
        simulated(
            "C5.1",
            tensor("Cache misses: cache simulator"),
            "a cache of 64 KiB and 4 ways, filled in turn, misses 448 of 1,000,000 reads of the \
             flat tensor",
            |e| Counted::all(e, &TABLE[..1]),
        )
        .then(448.0, ""),
        simulated(
            "C5.2",
            ours("does the number depend on the round robin of the post?"),
            "a cache of 64 KiB and 4 ways misses 448 of 1,000,000 reads of the flat tensor under \
             LRU and under tree-PLRU",
            |e| Counted::all(e, &TABLE[1..3]),
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
            |e| Counted::all(e, &TABLE[3..5]),
        ),
        simulated(
            "C5.4",
            ours(
                "unlike the post's reads, nested arrays distinguish policies, and so test the \
                 simulator",
            ),
            "a cache of 64 KiB and 4 ways misses 168,023 of the 4,000,000 loads of nested arrays \
             if filled in turn, 101,073 under LRU and 85,455 under tree-PLRU",
            |e| Counted::all(e, &TABLE[5..]),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the misses of the reads of a pass in a cache that is empty at first.
fn misses(reads: Reads, (kib, ways): (u64, u64), replacement: Replacement) -> Testable<f64> {
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
