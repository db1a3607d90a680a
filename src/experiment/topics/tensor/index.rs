//! What the index costs: C7.

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
    question: "What does it cost to form the index, by remainders, masks, divisions and calls?",
    source: "mmpataki, parts 7 and 8: 285 operations a second, 144 with prime dimensions, 328 \
             with masks, 102 with get and index not inlined",
    seen: &[],
    about: "A remainder by a power of two is a mask or three instructions, one by another constant \
            two multiplications, and strides that are known when the program runs are another \
            three. Where the multiplier takes one operation a cycle it is what flat reads wait \
            for, and masks, which save instructions but none of the multiplications, need not pay \
            at all; on narrower cores instructions count. Four divisions by dimensions that no \
            compiler knows cost more than anything else here.",
    plot: Some(
        Plot::bars(
            Axis::linear("the series' tensor (0)"),
            Axis::log("a read"),
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
        measured(
            "C7.1",
            UNSURE,
            "with constant dimensions of which only 28 is no power of two, a read takes less than \
             0.8 of the time that prime dimensions take",
            |e| {
                let share = ratio(only(e, FLAT), only(e, PRIMES))?;
                at_most("remainders by 28 alone over four primes", share, 0.8)
            },
        ),
        measured(
            "C7.2",
            UNSURE,
            "masks in place of remainders by powers of two make it more than 1.1 times as fast",
            |e| {
                at_least(
                    "remainders over masks",
                    ratio(only(e, FLAT), only(e, MASKS)),
                    1.1,
                )
            },
        ),
        measured(
            "C7.3",
            UNSURE,
            "without inlining it takes more than 1.5 times as long",
            |e| {
                at_least(
                    "not inlined over inlined",
                    ratio(only(e, CALLED), only(e, FLAT)),
                    1.5,
                )
            },
        ),
        measured(
            "C7.4",
            UNSURE,
            "beyond the post: dividing by dimensions that only the running program knows takes \
             more than 1.5 times as long as by constants",
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
