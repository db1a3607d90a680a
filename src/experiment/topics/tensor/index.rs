//! The cost of computing the index: C7.

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::reads::TensorSetup;
use crate::experiment::topics::tensor::{FLAT, MACHINE, STRIDES, only};
use crate::kernel::Get;
use crate::pattern::{self, Storage};

const MASKS: &str = "flat, masks";
const PRIMES: &str = "flat, prime dimensions";
const CALLED: &str = "flat, not inlined";
const ARRAY: &str = "flat, an array type";
const DIVIDED: &str = "flat, dimensions unknown";

pub(crate) const INDEX: Experiment = Experiment {
    id: "C7",
    name: "tensor-get-kernel",
    title: "Remainders, strides and calls",
    question: "What does it cost to compute the index by remainders, masks, divisions or calls?",
    source: "mmpataki, parts 7 and 8: 285 operations per second, 144 with prime dimensions, 328 \
             with masks, 102 with get and index not inlined",
    seen: &[],
    about: "The bars show the time per read of the flat tensor, with its index computed in \
            several ways. A remainder by a power of two takes a mask or three instructions; a \
            remainder by another constant takes two multiplications. Strides that are known only \
            at run time take three more. Four divisions by dimensions unknown to the compiler \
            keep the divider busy.",
    plot: Some(
        Plot::bars(
            Axis::linear("the series' tensor (0)"),
            Axis::log("time per read"),
            Unit::Nanoseconds,
        )
        .beside(&[Reference {
            file: "tensor_reads.csv",
            machine: MACHINE,
            x: "place",
            columns: &[
                ("flat_huge", FLAT),
                ("masks", MASKS),
                ("primes", PRIMES),
                ("called", CALLED),
            ],
        }]),
    ),
    cases: |_| {
        let primes = TensorSetup {
            shape: pattern::Shape::PRIMES,
            storage: Storage::Flat,
            get: Get::Primes,
        };
        [
            (FLAT, STRIDES),
            (MASKS, TensorSetup::flat(Get::Masks)),
            (ARRAY, TensorSetup::flat(Get::Array)),
            (PRIMES, primes),
            (CALLED, TensorSetup::flat(Get::Called)),
            (DIVIDED, TensorSetup::flat(Get::Divided)),
        ]
        .into_iter()
        .map(|(series, setup)| Case::new(series, 0.0, setup))
        .collect()
    },
    curves: plain_curves,
    events: events::PRODUCT,
    claims: &[
        // Part 8: 285 operations per second, and 144 with dimensions of 61, 17, 29 and 31.
        measured(
            "C7.1",
            tensor("part 8 of the series"),
            "with constant dimensions of which only 28 is no power of two, a read of the flat \
             tensor takes less than 0.8 of the time with prime dimensions",
            |e| {
                let share = ratio(only(e, FLAT), only(e, PRIMES))?;
                at_most("remainders by 28 alone over four primes", share, 0.8)
            },
        )
        .then(0.504, "i7-9750H"),
        // Part 8: 15 % more operations per second with masks, 328 instead of 285.
        measured(
            "C7.2",
            tensor("part 8 of the series"),
            "a read of the flat tensor is more than 1.1 times as fast with masks as with \
             remainders by powers of two",
            |e| {
                at_least(
                    "remainders over masks",
                    ratio(only(e, FLAT), only(e, MASKS)),
                    1.1,
                )
            },
        )
        .then(1.15, "i7-9750H")
        .failing(
            "Masks save instructions but no multiplications, and the reads wait for the \
             multiplier, which starts one multiplication per cycle.",
        ),
        // Part 8: 102 operations per second without inlining of get and index, 285 with it.
        measured(
            "C7.3",
            tensor("part 8 of the series"),
            "without inlining, a read of the flat tensor takes more than 1.5 times as long",
            |e| {
                at_least(
                    "not inlined over inlined",
                    ratio(only(e, CALLED), only(e, FLAT)),
                    1.5,
                )
            },
        )
        .then(2.8, "i7-9750H")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "Index function called over inlined, a read",
                "A read takes {now} as long if its index function is not inlined",
            )
            .advice(
                "Let the compiler inline the function that computes an index.",
                "The call hides behind other work here: inlining does not make this read faster.",
            ),
        ),
        measured(
            "C7.4",
            ours("beyond the series: dimensions that are known only at run time"),
            "a read of the flat tensor takes more than 1.5 times as long with divisions by \
             dimensions known only at run time as with divisions by constants",
            |e| {
                at_least(
                    "divisions over constants",
                    ratio(only(e, DIVIDED), only(e, FLAT)),
                    1.5,
                )
            },
        ),
    ],
};
