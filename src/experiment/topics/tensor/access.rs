//! The lines that the reads touch, and the references that they follow: C1 and C8.

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::reads::TensorSetup;
use crate::experiment::topics::tensor::tally::Tally;
use crate::experiment::topics::tensor::{
    BOXES, FLAT, NESTED, OF_VECTORS, SHUFFLED, STRIDES, UNCHECKED, VECTORS, shuffled, tally,
};
use crate::kernel::Get;
use crate::mem::LINE;

const ELEMENTS: &str = "elements";
const LINES: &str = "lines";
const SPAN: &str = "bytes from the first to the last";
const EQUAL: &str = "bits of the sum that agree";

/// The ways to read the tensor whose sums are compared with the flat tensor's, by their places.
const WAYS: [&str; 8] = [
    "flat, strides",
    "masks",
    "an array type",
    "divisions",
    "calls",
    "nested boxes",
    "nested boxes shuffled",
    "vectors of vectors",
];

pub(crate) const PATTERN: Experiment = Experiment {
    id: "C1",
    name: "tensor-access-pattern",
    title: "A million reads of 448 elements",
    question: "What do a million reads at (i % 64, i % 16, i % 28, i % 32) touch, and is their \
               sum the same in every layout?",
    source: "mmpataki, part 7 (and part 1): float[64][16][28][32], sums in f32",
    seen: &[],
    about: "Nothing is timed. The remainders repeat after 448 reads, the least common multiple of \
            64, 16, 28 and 32. The benchmark therefore reads the same 448 elements again and \
            again. Each element has a line of its own, so the reads touch 28 KiB of lines in 3.5 \
            MiB.",
    plot: None,
    cases: |machine| {
        let ways = [
            STRIDES,
            TensorSetup::flat(Get::Masks),
            TensorSetup::flat(Get::Array),
            TensorSetup::flat(Get::Divided),
            TensorSetup::flat(Get::Called),
            BOXES,
            shuffled(machine),
            OF_VECTORS,
        ];
        let mut cases = vec![
            tally(ELEMENTS, 0.0, STRIDES, Tally::Units(size_of::<f32>())),
            tally(LINES, 0.0, STRIDES, Tally::Units(LINE)),
            tally(SPAN, 0.0, STRIDES, Tally::Span),
        ];
        let ways = ways.into_iter().enumerate();
        cases.extend(ways.map(|(place, of)| tally(EQUAL, place as f64, of, Tally::EqualBits)));
        cases
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        // A million reads miss 448 times, once per line, in a cache with room for these lines.
        computed(
            "C1.1",
            tensor("Cache misses: cache simulator"),
            "a million reads at (i % 64, i % 16, i % 28, i % 32) touch 448 elements on 448 lines, \
             spread over all 3,670,016 bytes of the tensor",
            |e| {
                let exactly = |series, count: f64| {
                    between(
                        series,
                        crate::experiment::topics::tensor::only(e, series),
                        count,
                        count,
                    )
                };
                all_of([
                    exactly(ELEMENTS, 448.0),
                    exactly(LINES, 448.0),
                    exactly(SPAN, 3_670_016.0),
                ])
            },
        )
        .then(448.0, ""),
        computed(
            "C1.2",
            ours("the compared layouts must give the same sum"),
            "a million reads sum to the same bits in every layout",
            |e| {
                let mut parts = Vec::new();
                for (place, way) in WAYS.into_iter().enumerate() {
                    let bits = e.at(EQUAL, place as f64)?;
                    parts.push(between(&format!("{EQUAL}, {way}"), bits, 32.0, 32.0));
                }
                all_of(parts)
            },
        ),
    ],
};

const LOADS: &str = "loads a read";

pub(crate) const DEREFERENCES: Experiment = Experiment {
    id: "C8",
    name: "tensor-java-layout",
    title: "Dereferences per read",
    question: "How many loads does it take to reach an element of nested arrays?",
    source: "mmpataki, part 7: all but the last of n dimensions hold pointers, so an element \
             takes 4 dereferences; 7.02 loads per read counted, 1.01 for the flat tensor",
    seen: &[],
    about: "The trace of our assembly shows the loads per read; nothing is timed. No compiler can \
            omit a load unless it knows that the arrays do not change. Bounds checks add 3 loads: \
            each index is compared with a length, which lies before the array, or beside its \
            address in a vector.",
    plot: None,
    cases: |machine| {
        let of = |name: &str, of| tally(&format!("{LOADS}, {name}"), 0.0, of, Tally::Loads);
        vec![
            of(FLAT, STRIDES),
            of("nested boxes, unchecked", UNCHECKED),
            of(NESTED, BOXES),
            of(SHUFFLED, shuffled(machine)),
            of(VECTORS, OF_VECTORS),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        // An access dereferences 4 pointers; the flat layout computes the place of the element.
        computed(
            "C8.1",
            tensor("The problem: Java's multidimensional array layout"),
            "an element of nested arrays is the fourth load of a chain, and an element of the \
             flat tensor the first",
            |e| {
                let loads = |name: &str, count: f64| {
                    let loads =
                        crate::experiment::topics::tensor::only(e, &format!("{LOADS}, {name}"))?;
                    between(&format!("{LOADS}, {name}"), loads, count, count)
                };
                all_of([loads("nested boxes, unchecked", 4.0), loads(FLAT, 1.0)])
            },
        )
        .then(4.0, ""),
        // 7,019,439 loads were counted for a million reads.
        computed(
            "C8.2",
            tensor("Error in our measurements; The 60% performance gain"),
            "with every index checked, a read of nested arrays takes 7 loads in total",
            |e| {
                let mut parts = Vec::new();
                for name in [NESTED, VECTORS] {
                    let loads =
                        crate::experiment::topics::tensor::only(e, &format!("{LOADS}, {name}"))?;
                    parts.push(between(&format!("{LOADS}, {name}"), loads, 7.0, 7.0));
                }
                all_of(parts)
            },
        )
        .then(7.02, "i7-9750H"),
    ],
};
