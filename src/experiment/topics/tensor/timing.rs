//! C2, C7 and C9: the time of a read of a tensor, of its index, and of the harness.

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::setups::{HarnessSetup, Tally, TensorSetup};
use crate::experiment::topics::tensor::{
    BOXES, FLAT, MACHINE, NESTED, OF_VECTORS, SHUFFLED, STRIDES, VECTORS, in_turn, l1d, only, over,
    per_read, reads, shuffled, tally,
};
use crate::host::Event;
use crate::kernel::{Get, ReadTensor};
use crate::pattern;
use crate::pmu::Quantity;

// Places on the axis of events.
const CYCLES: f64 = 0.0;
const INSTRUCTIONS: f64 = 1.0;
const BRANCHES: f64 = 2.0;
const LOADS: f64 = 3.0;
const SIMULATED: f64 = 4.0;
const COUNTED: f64 = 5.0;
const PAGES: f64 = 6.0;

pub(crate) const OPERATION: Experiment = Experiment {
    id: "C2",
    name: "tensor-nested-vs-flat",
    title: "A million reads of nested arrays and of a flat array",
    question: "What does it cost to reach an element through references, in instructions and in \
               misses?",
    source: "mmpataki, part 7: 133 operations per second nested, 288 flat; cycles and events per \
             operation by perfnorm",
    about: "An operation is a million reads of a tensor, flat or as nested arrays. The bars show \
            its core cycles and events. Instructions, branches and loads come from the assembly \
            kernels, which have the instructions that compilers make for the index. Misses of L1d \
            are simulated, and also counted if the CPU has counters. The lines of the nested \
            tensor hold references, lengths and elements, and are more than twice the 448 lines \
            of the flat tensor, which alone nearly fill a cache of 32 KiB. The reads are \
            independent of each other: a CPU that computes addresses far ahead overlaps their \
            misses.",
    plot: Some(
        Plot::bars(
            Axis::linear(
                "core cycles (0), instructions (1), branches (2), loads (3), L1d misses simulated \
                 (4), L1d misses counted (5), dTLB misses counted (6)",
            ),
            Axis::log(""),
            Unit::Events,
        )
        .beside(&[Reference {
            file: "tensor_operation.csv",
            machine: MACHINE,
            x: "number",
            columns: &[("nested", NESTED), ("flat", FLAT)],
        }]),
    ),
    cases: |machine| {
        let layouts = [
            (FLAT, STRIDES),
            (NESTED, BOXES),
            (SHUFFLED, shuffled(machine)),
            (VECTORS, OF_VECTORS),
        ];
        let timed = |(name, of): (&str, TensorSetup)| Case::new(name, CYCLES, of).in_turn();
        let mut cases: Vec<Case> = layouts.into_iter().map(timed).collect();
        for (name, of) in layouts {
            cases.extend([
                tally(name, INSTRUCTIONS, of, Tally::Instructions),
                tally(name, BRANCHES, of, Tally::Branches),
                tally(name, LOADS, of, Tally::LoadsOfAPass),
            ]);
            // Nested layouts have similar misses, and their simulation takes long.
            if machine.full || [FLAT, NESTED].contains(&name) {
                let l1d = l1d(machine);
                cases.extend(l1d.map(|l1d| tally(name, SIMULATED, of, Tally::Misses(l1d))));
            }
        }
        for (name, of) in [(FLAT, STRIDES), (NESTED, BOXES)] {
            for (place, event) in
                [(COUNTED, Event::L1D_LOAD_MISSES), (PAGES, Event::DTLB_LOAD_MISSES)]
            {
                cases.push(tally(name, place, of, Tally::Counted(event)));
            }
        }
        cases
    },
    curves: an_operation,
    events: events::PRODUCT,
    claims: &[
        // 133.263 operations per second of the nested array, 287.630 of the flat one.
        measured(
            "C2.1",
            tensor("The 60% performance gain"),
            "a read of the nested tensor takes more than 1.3 times as long as a read of the flat \
             tensor",
            |e| at_least("nested over flat", in_turn(e, NESTED, FLAT), 1.3),
        )
        .then(2.16, "i7-9750H")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Nested over flat arrays, a read",
            "A read of nested arrays takes {now} as long as one of a flat array",
        )
        .advice(
            "Use one flat array and compute the index.",
            "Independent reads overlap: flatten for size and simplicity, not for speed.",
        )
        .failing(
            "The reads are independent: a CPU that computes addresses far ahead overlaps the \
             misses of the nested tensor.",
        ),
        // An access dereferences 4 pointers, which are 4 extra memory accesses. 7.02 loads per read
        // were counted for the nested array, 1.01 for the flat one.
        computed(
            "C2.2",
            tensor("The problem: Java's multidimensional array layout"),
            "in our assembly, a read of the nested tensor takes at least 4 loads and a read of \
             the flat tensor 1, and the nested read takes more instructions",
            |e| {
                let pass = f64::from(ReadTensor::PASS);
                let loads = |name| Ok(e.at(name, LOADS)?.scaled(1.0 / pass));
                let instructions = |name| e.at(name, INSTRUCTIONS);
                let more = ratio(instructions(NESTED), instructions(FLAT))?;
                all_of([
                    at_least("loads per read, nested", loads(NESTED), 4.0),
                    between("loads per read, flat", loads(FLAT), 1.0, 1.0),
                    at_least("instructions, nested over flat", more, 1.0),
                ])
            },
        )
        .then(7.02, "i7-9750H"),
        // 2,398,892 misses of L1d per operation were counted for the nested array, 7,309 for the flat: 328
        // times as many, by perf in a JVM. The post has no number of a first pass, which misses each line
        // once: 448 of the flat tensor.
        simulated(
            "C2.3",
            tensor("The 60% performance gain"),
            "in L1d as CPUID describes it, a pass over the nested tensor misses more than 10 \
             times as often as a pass over the flat tensor",
            |e| {
                let misses = |name| e.at(name, SIMULATED);
                let more = ratio(misses(NESTED), misses(FLAT))?;
                at_least("misses simulated, nested over flat", more, 10.0)
            },
        ),
        // 5,014,497 branches per operation were counted for the nested array, 1,506,185 for the flat one. Each
        // level of references adds the check of a bound. The threshold is ours.
        computed(
            "C2.4",
            tensor("The 60% performance gain"),
            "in our assembly, a pass over the nested tensor takes at least twice as many branches \
             as a pass over the flat tensor",
            |e| {
                let branches = |name| e.at(name, BRANCHES);
                at_least("branches, nested over flat", ratio(branches(NESTED), branches(FLAT)), 2.0)
            },
        )
        .then(3.33, "i7-9750H"),
    ],
    ..Experiment::PLAIN
};

/// Returns the curves per operation of the post, which is a pass. Times are measured per read.
fn an_operation(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves();
    for (place, value) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        if *place == CYCLES {
            *value = value.scaled(f64::from(ReadTensor::PASS));
        }
    }
    curves
}

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
    about: "The bars show the time per read of the flat tensor, with its index computed in several \
            ways. A remainder by a power of two takes a mask or three instructions; a remainder by \
            another constant takes two multiplications. With prime dimensions the reads also \
            repeat only after every element: 3.7 MB, or 58,267 lines instead of 448. Strides that \
            are known only at run time take three more. Four divisions by dimensions unknown to \
            the compiler keep the divider busy.",
    plot: per_read(&[reads(&[
        ("flat_huge", FLAT),
        ("masks", MASKS),
        ("primes", PRIMES),
        ("called", CALLED),
    ])]),
    cases: |_| {
        let primes =
            TensorSetup { shape: pattern::Shape::PRIMES, ..TensorSetup::flat(Get::Primes) };
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
    events: events::PRODUCT,
    claims: &[
        // Part 8: 285 operations per second, and 144 with dimensions of 61, 17, 29 and 31.
        measured(
            "C7.1",
            tensor("part 8 of the series"),
            "with constant dimensions of which only 28 is no power of two, a read of the flat \
             tensor takes less than 0.8 of the time with prime dimensions, which take more \
             multiplications and lead to 130 times as many lines",
            |e| at_most("28 and powers of two over four primes", over(e, FLAT, PRIMES), 0.8),
        )
        .then(0.504, "i7-9750H")
        .holding(
            "Remainders by primes take more multiplications, and the reads go over all of 3.7 MB \
             instead of 448 lines: this does not tell the two apart.",
        )
        .failing("The core overlaps both the multiplications and the misses with other reads."),
        // Part 8: 15 % more operations per second with masks, 328 instead of 285.
        measured(
            "C7.2",
            tensor("part 8 of the series"),
            "a read of the flat tensor is more than 1.1 times as fast with masks as with \
             remainders by powers of two",
            |e| at_least("remainders over masks", over(e, FLAT, MASKS), 1.1),
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
            |e| at_least("not inlined over inlined", over(e, CALLED, FLAT), 1.5),
        )
        .then(2.8, "i7-9750H")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Index function called over inlined, a read",
            "A read takes {now} as long if its index function is not inlined",
        )
        .advice(
            "Let the compiler inline the function that computes an index.",
            "The call hides behind other work here: inlining does not make this read faster.",
        ),
        measured(
            "C7.4",
            ours("beyond the series: dimensions that are known only at run time"),
            "a read of the flat tensor takes more than 1.5 times as long with divisions by \
             dimensions known only at run time as with divisions by constants",
            |e| at_least("divisions over constants", over(e, DIVIDED, FLAT), 1.5),
        ),
    ],
    ..Experiment::PLAIN
};

const READ: &str = "a read, by N against 2N";
const STRETCH: &str = "a stretch of reads with its harness";

/// Reads per stretch: none, a period of the pattern, and ten periods.
const READS: [u32; 3] = [0, 448, 4480];

pub(crate) const HARNESS: Experiment = Experiment {
    id: "C9",
    name: "tensor-measurement-error",
    title: "Stretches of reads with their harness",
    question: "How much does a harness add to a measurement, and does the difference of two \
               stretches remove it?",
    source: "mmpataki, part 7: counters of the whole application are not counters of the benchmark",
    about: "Stretches of reads of the flat tensor are timed together with a harness: a call, and \
            two readings of the clock with their fences. The parts before part 7 counted events \
            of a whole JVM. Over a million reads either harness adds almost nothing, over 448 \
            reads it does.",
    cases: |_| {
        let mut cases = vec![Case::new(READ, 0.0, STRIDES)];
        cases.extend(READS.map(|reads| {
            Case::new(STRETCH, f64::from(reads), HarnessSetup { of: STRIDES, reads }).in_turn()
        }));
        cases
    },
    events: &[Quantity::Instructions],
    claims: &[
        measured(
            "C9.1",
            ours(
                "the post found that it had counted the whole application: how much does our own \
                 harness add?",
            ),
            "a stretch of 448 reads of the flat tensor, timed with its harness, makes a read \
             appear more than 2 % slower",
            |e| {
                let over = ratio(e.at(STRETCH, 448.0)?.scaled(1.0 / 448.0), only(e, READ))?;
                at_least("a read of 448 with the harness over one without", over, 1.02)
            },
        ),
        measured(
            "C9.2",
            ours(
                "every time in this report is the difference of N and 2N operations: other \
                 differences must give the same time",
            ),
            "the difference of stretches of 4,480 and 448 reads of the flat tensor gives the same \
             time per read as N and 2N, within 5 %",
            |e| {
                let over = ratio(by_difference(|reads| e.at(STRETCH, reads)), only(e, READ))?;
                between("a read by difference over one by N and 2N", over, 0.95, 1.05)
            },
        ),
        counted(
            "C9.3",
            ours(
                "counters also count the harness: the difference must remove it from counts as \
                 from times",
            ),
            "by the CPU's counters, a harness around no reads takes at least 10 instructions, and \
             the difference of stretches gives the instructions per read within 5 %",
            |e| {
                let counted = |series, x| e.count(series, x, Quantity::Instructions);
                let each = by_difference(|reads| counted(STRETCH, reads))?;
                all_of([
                    at_least("instructions around no reads", counted(STRETCH, 0.0), 10.0),
                    between(
                        "instructions of a read by difference over those by N and 2N",
                        ratio(each, counted(READ, 0.0)),
                        0.95,
                        1.05,
                    ),
                ])
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the value per read from the difference of two stretches. `of` gives the value of a
/// stretch.
fn by_difference<V: Into<Reading>>(of: impl Fn(f64) -> Testable<V>) -> Testable<Reading> {
    let (long, short) = (of(4480.0)?, of(448.0)?);
    Ok(minus(long, short).scaled(1.0 / (4480.0 - 448.0)))
}
