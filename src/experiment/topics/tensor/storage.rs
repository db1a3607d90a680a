//! What the reads of a tensor touch, and how many bytes its layouts take: C1, C3 and C8.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::tensor::setups::{Tally, TensorSetup};
use crate::experiment::topics::tensor::{
    BOXES, FLAT, NESTED, OF_VECTORS, SHUFFLED, STRIDES, UNCHECKED, VECTORS, exactly, shuffled,
    tally,
};
use crate::kernel::Get;
use crate::pattern::{Heap, Shape};

const ELEMENTS: &str = "elements";
const LINES: &str = "lines";
const SPAN: &str = "bytes from the first to the last";
const EQUAL: &str = "bits of the sum that agree";

/// The ways to read the tensor whose sums are compared with the flat tensor's, by place on the
/// axis.
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
    about: "Nothing is timed. The remainders repeat after 448 reads, the least common multiple of \
            64, 16, 28 and 32. The benchmark therefore reads the same 448 elements again and \
            again. Each element has a line of its own, so the reads touch 28 KiB of lines in 3.5 \
            MiB.",
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
    claims: &[
        // A million reads miss 448 times, once per line, in a cache with room for these lines.
        computed(
            "C1.1",
            tensor("Cache misses: cache simulator"),
            "a million reads at (i % 64, i % 16, i % 28, i % 32) touch 448 elements on 448 lines, \
             spread over all 3,670,016 bytes of the tensor",
            |e| {
                let counts = [(ELEMENTS, 448.0), (LINES, 448.0), (SPAN, 3_670_016.0)];
                all_of(counts.map(|(series, count)| exactly(e, series, 0.0, count)))
            },
        )
        .then(448.0, ""),
        computed(
            "C1.2",
            ours("the compared layouts must give the same sum"),
            "a million reads sum to the same bits in every layout",
            |e| {
                all_of(WAYS.into_iter().enumerate().map(|(place, way)| {
                    between(&format!("{EQUAL}, {way}"), e.at(EQUAL, place as f64), 32.0, 32.0)
                }))
            },
        ),
    ],
    ..Experiment::PLAIN
};

const LOADS: &str = "loads per read";

pub(crate) const DEREFERENCES: Experiment = Experiment {
    id: "C8",
    name: "tensor-java-layout",
    title: "Dereferences per read",
    question: "How many loads does it take to reach an element of nested arrays?",
    source: "mmpataki, part 7: all but the last of n dimensions hold pointers, so an element \
             takes 4 dereferences; 7.02 loads per read counted, 1.01 for the flat tensor",
    about: "The trace of our assembly shows the loads per read; nothing is timed. No compiler can \
            omit a load unless it knows that the arrays do not change. Bounds checks add 3 loads: \
            each index is compared with a length, which lies before the array, or beside its \
            address in a vector.",
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
    claims: &[
        // An access dereferences 4 pointers; the flat layout computes the place of the element.
        computed(
            "C8.1",
            tensor("The problem: Java's multidimensional array layout"),
            "an element of nested arrays is the fourth load of a chain, and an element of the \
             flat tensor the first",
            |e| all_of([loads(e, "nested boxes, unchecked", 4.0), loads(e, FLAT, 1.0)]),
        )
        .then(4.0, ""),
        // 7,019,439 loads were counted for a million reads.
        computed(
            "C8.2",
            tensor("Error in our measurements; The 60% performance gain"),
            "with every index checked, a read of nested arrays takes 7 loads in total",
            |e| all_of([NESTED, VECTORS].map(|name| loads(e, name, 7.0))),
        )
        .then(7.02, "i7-9750H"),
    ],
    ..Experiment::PLAIN
};

/// Judges that a read of a tensor in the layout of this name takes `count` loads.
fn loads(e: &Evidence<'_>, name: &str, count: f64) -> Judged {
    exactly(e, &format!("{LOADS}, {name}"), 0.0, count)
}

/// Layouts whose size is computed array by array, with the expected number of bytes.
const WALKED: [(&str, Heap, f64); 3] = [
    ("nested, references of 4 bytes, no headers", Heap::FORMULA, 3_789_056.0),
    ("nested, references of 4 bytes, headers of 16", Heap::COMPRESSED, 4_265_232.0),
    ("nested, references of 8 bytes, headers of 16", Heap::JAVA, 4_384_272.0),
];

const FLAT_BYTES: &str = "flat";

/// Shapes for which the formula is compared with the size computed array by array, the series'
/// shape first.
const SHAPES: [[u16; 4]; 5] =
    [[64, 16, 28, 32], [61, 17, 29, 31], [1, 1, 1, 1], [2, 300, 1, 7], [5, 4, 3, 2]];

const FORMULA: &str = "bytes of the arrays over those of the formula";

pub(crate) const SIZES: Experiment = Experiment {
    id: "C3",
    name: "tensor-size-formulas",
    title: "The sizes of the layouts",
    question: "How many more bytes do nested arrays with references take than one flat array?",
    source: "mmpataki, part 7: (a1 + a1 a2 + ... + a1 ... a(n-1)) x 4 + a1 ... an x 4 bytes",
    about: "Nothing is timed. Arithmetic gives the bytes of the elements, the references and the \
            array headers of each layout. The post's formula leaves out the header that a Java \
            heap puts before every array, 16 bytes on a 64-bit JVM. The headers take four times \
            the space of the references here.",
    cases: |_| {
        let mut cases = vec![
            CountSetup::computed(FLAT_BYTES, 0, |_| Ok((Shape::SERIES.elements() * 4) as f64))
                .at(0),
        ];
        for (number, (series, _, _)) in WALKED.into_iter().enumerate() {
            let setup = CountSetup::computed(series, number as u64, |number| {
                Ok(walked(WALKED[number as usize].1, Shape::SERIES) as f64)
            });
            cases.push(setup.at(number as f64));
        }
        for number in 0..SHAPES.len() as u64 {
            let setup = CountSetup::computed(FORMULA, number, |number| {
                let shape = Shape::new(SHAPES[number as usize])?;
                Ok(walked(Heap::FORMULA, shape) as f64 / formula(shape) as f64)
            });
            cases.push(setup.at(number as f64));
        }
        cases
    },
    claims: &[
        // 64 x 16 x 28 x 32 x 4 bytes are 3,670,016; with compressed pointers the nested arrays
        // take 3,789,056.
        computed(
            "C3.1",
            tensor("The problem: Java's multidimensional array layout"),
            "the flat tensor takes 3,670,016 bytes, and the nested tensor 3,789,056 by the post's \
             formula",
            |e| {
                let (formula, _, bytes) = WALKED[0];
                all_of([exactly(e, FLAT_BYTES, 0.0, 3_670_016.0), exactly(e, formula, 0.0, bytes)])
            },
        )
        .then(3670016.0, ""),
        // The exact size with compressed pointers is (a1 + a1 a2 + ... + a1 ... a(n-1)) x 4 plus the
        // elements.
        computed(
            "C3.2",
            tensor("The problem: Java's multidimensional array layout"),
            "for five shapes, the post's formula gives the size of the nested arrays without \
             headers",
            |e| {
                all_of(SHAPES.iter().zip(0..).map(|(shape, number)| {
                    let [a, b, c, d] = shape;
                    let what = format!("{FORMULA}, {a} x {b} x {c} x {d}");
                    between(&what, e.at(FORMULA, f64::from(number)), 1.0, 1.0)
                }))
            },
        ),
        computed(
            "C3.3",
            ours(
                "the post's formula leaves out the header that a Java heap puts before every array",
            ),
            "with headers of 16 bytes, the nested tensor takes 4,265,232 bytes, and 4,384,272 \
             with references of 8 bytes",
            |e| {
                let walked = |number: usize| {
                    let (series, _, bytes) = WALKED[number];
                    exactly(e, series, number as f64, bytes)
                };
                all_of([walked(1), walked(2)])
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the bytes by the document's formula, for floats and references of 4 bytes.
fn formula(shape: Shape) -> usize {
    let mut product = 1;
    let mut sum = 0;
    for size in shape.dimensions() {
        product *= size;
        sum += product * 4;
    }
    sum
}

/// Returns the bytes from the first array to the end of the last, each placed behind the array that
/// was allocated before.
fn walked(heap: Heap, shape: Shape) -> usize {
    let ends = (0..4).map(|level| {
        heap.natural(shape, level, Heap::arrays(shape, level) - 1) + heap.array(shape, level)
    });
    ends.max().unwrap_or(0) - heap.first
}
