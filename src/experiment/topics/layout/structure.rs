//! Drepper 3.3.1 and 3.3.2, how caches and lists are made: the size formula, Figure 3.9 and
//! `struct l`.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::host::Told;
use crate::pattern::{Layout, Order, Ring};

pub(crate) static ALL: &[Experiment] = &[SIZE_FORMULA, FIG_3_9, STRUCT_L];

const SIZE_FORMULA: Experiment = Experiment {
    id: "D11",
    name: "drepper-size-formula",
    title: "Cache size = line size x associativity x number of sets",
    question: "Do the caches of this machine satisfy the formula?",
    source: "Drepper 3.3.1",
    about: "The claim checks the formula on the numbers that the kernel reports for each cache. \
            The number of sets need not be a power of two, because last-level caches hash \
            addresses to slices.",
    cases: |_| {
        vec![Case::new(
            "caches that disagree",
            0.0,
            CountSetup::told(
                "caches whose size is not line x ways x sets",
                Told::CachesThatDisagree,
            ),
        )]
    },
    // The size of a cache is line size times associativity times number of sets.
    claims: &[reported(
        "D11.1",
        drepper("3.3.1"),
        "every cache that the kernel reports has the size line x ways x sets",
        |e| {
            let what = "caches that disagree";
            between(what, e.at(what, 0.0), 0.0, 0.0)
        },
    )],
    ..Experiment::PLAIN
};

type Count = fn(Region<'_>, u64) -> Testable<f64>;

/// Lengths of the tested lists.
const LENGTHS: [u64; 4] = [2, 100, 4096, 50_000];

const FIG_3_9: Experiment = Experiment {
    id: "D12",
    name: "drepper-fig-3.9",
    title: "A sequential and a random list",
    question: "Do the lists of the walks have the structure that the figure shows?",
    source: "Drepper 3.3.1, Figure 3.9",
    about: "Both lists are circular. The sequential list visits elements in the order of their \
            addresses and has a single link to a lower address. The random list is built by \
            inserting each element after a random earlier element, which makes all cycles equally \
            likely.",
    cases: |_| {
        let mut cases = Vec::new();
        for length in LENGTHS {
            for (series, count) in [
                (
                    "elements on the cycle, sequential",
                    (|region, n| on_cycle(region, n, Order::Sequential)) as Count,
                ),
                ("elements on the cycle, random", |region, n| on_cycle(region, n, RANDOM)),
                ("links back, sequential", |region, n| links_back(region, n, Order::Sequential)),
                ("links back, random", |region, n| links_back(region, n, RANDOM)),
            ] {
                let setup = CountSetup::in_memory(series, (length * 64) as usize, length, count);
                cases.push(setup.at(length as f64));
            }
        }
        cases
    },
    events: events::WALK,
    claims: &[
        // In both tests the elements form a circular list.
        computed(
            "D12.1",
            drepper("3.3.1, Figure 3.9"),
            "a sequential and a random list are each one cycle through all elements",
            |e| {
                let mut parts = Vec::new();
                for order in ["sequential", "random"] {
                    for length in LENGTHS {
                        let x = length as f64;
                        let cycle = e.at(&format!("elements on the cycle, {order}"), x)?;
                        parts.push(between(&format!("{order} list of {length}"), cycle, x, x));
                    }
                }
                all_of(parts)
            },
        ),
        // The sequential list has one back reference, from the last element.
        computed(
            "D12.2",
            drepper("3.3.1, Figure 3.9"),
            "a sequential list of 50,000 elements has one link to a lower address",
            |e| {
                let back = e.at("links back, sequential", LENGTHS[3] as f64);
                between("links back, sequential", back, 1.0, 1.0)
            },
        )
        .then(1.0, ""),
        computed(
            "D12.3",
            ours("in an unbiased order, half of the links lead to a lower address"),
            "in a random list of 50,000 elements, 48 to 52 % of the links lead to a lower address",
            |e| {
                let x = LENGTHS[3] as f64;
                between("links back, random", e.at("links back, random", x), 0.48 * x, 0.52 * x)
            },
        ),
    ],
    ..Experiment::PLAIN
};

const RANDOM: Order = Order::Random { seed: 3 };

fn ring(region: Region<'_>, count: u64, order: Order) -> Testable<Ring<'_>> {
    Ok(Ring::new(region, Layout::npad(7), count as usize, order)?)
}

fn on_cycle(region: Region<'_>, count: u64, order: Order) -> Testable<f64> {
    Ok(ring(region, count, order)?.cycle_length() as f64)
}

/// Counts the links that point to a lower address.
fn links_back(region: Region<'_>, count: u64, order: Order) -> Testable<f64> {
    let ring = ring(region, count, order)?;
    let mut at = ring.cursor();
    let mut back = 0;
    for _ in 0..ring.count() {
        let next = ring.next(at);
        back += u32::from(next < at);
        at = next;
    }
    Ok(f64::from(back))
}

/// NPAD and the size of an element in bytes on 64-bit machines, as the paper lists them.
const SIZES: [(u64, f64); 5] = [(0, 8.0), (1, 16.0), (7, 64.0), (15, 128.0), (31, 256.0)];

const STRUCT_L: Experiment = Experiment {
    id: "D13",
    name: "drepper-struct-l",
    title: "struct l and how many elements a working set holds",
    question: "Does a working set of 2^N bytes hold 2^N / sizeof(struct l) elements, all on one \
               cycle?",
    source: "Drepper 3.3.2",
    about: "An element consists of a pointer and NPAD longs of padding. A pointer and a long have \
            8 bytes each on 64-bit Unix systems, in 2007 as today. The test builds lists of 1 MiB \
            and follows each once around, counting the elements.",
    cases: |_| {
        SIZES
            .into_iter()
            .map(|(npad, _)| {
                let series = "elements on the cycle of a 1 MiB list";
                let on_cycle = CountSetup::in_memory(series, 1 << 20, npad, |region, npad| {
                    let layout = Layout::npad(npad as usize);
                    let ring = Ring::new(region, layout, layout.count(1 << 20), RANDOM)?;
                    Ok(ring.cycle_length() as f64)
                });
                on_cycle.at(npad as f64)
            })
            .collect()
    },
    events: events::WALK,
    // A working set of 2^N bytes holds 2^N / sizeof(struct l) elements; NPAD=7 makes 64 bytes
    // on 64-bit systems.
    claims: &[computed(
        "D13.1",
        drepper("3.3.2"),
        "elements with NPAD 0, 1, 7, 15 and 31 have 8, 16, 64, 128 and 256 bytes, and 1 MiB holds \
         2^20 / sizeof of them on one cycle",
        |e| {
            let mut parts = Vec::new();
            for (npad, bytes) in SIZES {
                let count = e.at("elements on the cycle of a 1 MiB list", npad as f64)?;
                let expected = f64::from(1 << 20) / bytes;
                parts.push(between(&format!("NPAD={npad}"), count, expected, expected));
            }
            let pointer = size_of::<*const u8>();
            let verdict = if pointer == 8 { Verdict::Holds } else { Verdict::DoesNotHold };
            parts.push(Ok(Judgement::in_words(verdict, format!("a pointer has {pointer} bytes"))));
            all_of(parts)
        },
    )],
    ..Experiment::PLAIN
};
