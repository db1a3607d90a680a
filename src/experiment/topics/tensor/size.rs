//! The sizes of the layouts: C3.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::mem::Region;
use crate::pattern::{Heap, Shape};

/// Layouts whose size is added up array by array.
const WALKED: [(&str, Heap, f64); 3] = [
    (
        "nested, references of 4 bytes, no headers",
        Heap::FORMULA,
        3_789_056.0,
    ),
    (
        "nested, references of 4 bytes, headers of 16",
        Heap::COMPRESSED,
        4_265_232.0,
    ),
    (
        "nested, references of 8 bytes, headers of 16",
        Heap::JAVA,
        4_384_272.0,
    ),
];

const FLAT: &str = "flat";

/// Shapes for which the formula is compared with such a sum, the series' shape first.
const SHAPES: [[u16; 4]; 5] = [
    [64, 16, 28, 32],
    [61, 17, 29, 31],
    [1, 1, 1, 1],
    [2, 300, 1, 7],
    [5, 4, 3, 2],
];

const FORMULA: &str = "bytes of the arrays over those of the formula";

pub(crate) const SIZES: Experiment = Experiment {
    id: "C3",
    name: "tensor-size-formulas",
    title: "The sizes of the layouts",
    question: "How many more bytes do nested arrays with references take than one flat array?",
    source: "mmpataki, part 7: (a1 + a1 a2 + ... + a1 ... a(n-1)) x 4 + a1 ... an x 4 bytes",
    seen: &[],
    about: "Nothing is timed. Arithmetic gives the bytes of the elements, the references and the \
            array headers of each layout. The post's formula leaves out the header that a Java \
            heap puts before every array, 16 bytes on a 64-bit JVM. The headers take four times \
            the space of the references here.",
    plot: None,
    cases: |_| {
        let mut cases = vec![case(FLAT, 0, |_, _| {
            Ok((Shape::SERIES.elements() * 4) as f64)
        })];
        for (number, (series, _, _)) in WALKED.into_iter().enumerate() {
            cases.push(case(series, number as u64, |_, number| {
                Ok(walked(WALKED[number as usize].1, Shape::SERIES) as f64)
            }));
        }
        for number in 0..SHAPES.len() as u64 {
            cases.push(case(FORMULA, number, |_, number| {
                let shape = Shape::new(SHAPES[number as usize])?;
                Ok(walked(Heap::FORMULA, shape) as f64 / formula(shape) as f64)
            }));
        }
        cases
    },
    curves: plain_curves,
    events: &[],
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
                all_of([
                    exactly(e, FLAT, 0.0, 3_670_016.0),
                    exactly(e, formula, 0.0, bytes),
                ])
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
                let mut parts = Vec::new();
                for number in 0..SHAPES.len() {
                    parts.push(exactly(e, FORMULA, number as f64, 1.0));
                }
                all_of(parts)
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
                let with_headers = WALKED.into_iter().enumerate().skip(1);
                all_of(
                    with_headers.map(|(number, (series, _, bytes))| {
                        exactly(e, series, number as f64, bytes)
                    }),
                )
            },
        ),
    ],
};

fn exactly(e: &Evidence<'_>, series: &str, x: f64, bytes: f64) -> Judged {
    between(series, e.at(series, x), bytes, bytes)
}

fn case(
    name: &'static str,
    argument: u64,
    count: fn(Region<'_>, u64) -> Result<f64, Untestable>,
) -> Case {
    let setup = CountSetup {
        name,
        bytes: 0,
        count,
        argument,
    };
    Case::new(name, argument as f64, setup)
}

/// The document's formula, for floats and references of 4 bytes.
fn formula(shape: Shape) -> usize {
    let mut product = 1;
    let mut sum = 0;
    for size in shape.dimensions() {
        product *= size;
        sum += product * 4;
    }
    sum
}

/// Bytes from the first array to the end of the last, each placed behind the array that was
/// allocated before.
fn walked(heap: Heap, shape: Shape) -> usize {
    let ends = (0..4).map(|level| {
        let last = Heap::arrays(shape, level) - 1;
        heap.natural(shape, level, last) + heap.array(shape, level)
    });
    ends.max().unwrap_or(0) - heap.first
}
