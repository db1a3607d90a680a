//! Figures 3.24, 3.26 and 3.28: what the paper measured on three CPUs, by its 16-byte accesses.

use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::Mover;
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Memory};
use crate::experiment::topics::bandwidth::{
    BY_VECTORS, BYTES_A_CYCLE, COPY, PAPER, READ, WRITE, case, level, series, without_repetition,
    working_sets,
};
use crate::kernel::Motion;
use crate::mem::PAGE;
use crate::stats::Interval;

/// Cases of the figures: what the paper measured, over all its working sets.
fn figure_cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for bytes in working_sets(machine) {
        for what in [READ, WRITE, COPY] {
            let motion = BY_VECTORS.into_iter().find(|(name, _)| *name == what);
            let (_, motion) = motion.expect("is one of them");
            let mover = Mover::Vectors(PAPER);
            cases.extend(case(series(what, PAPER), bytes, motion, mover));
        }
    }
    without_repetition(cases)
}

macro_rules! reference {
    ($file:literal, $machine:expr) => {
        &[Reference {
            file: $file,
            machine: $machine,
            x: "working_set_bytes_approx",
            columns: &[("Read", "read"), ("Write", "write"), ("Copy", "copy")],
        }]
    };
}

/// A claim about the ratio of what is done in two places, by the paper's accesses.
fn compare(
    e: &Evidence<'_>,
    (of, of_place): (&str, Place),
    (to, to_place): (&str, Place),
    what: &str,
    judge: impl Fn(&str, Interval) -> Judged,
) -> Judged {
    let of = level(e, of, PAPER, of_place)?;
    judge(what, ratio(of, level(e, to, PAPER, to_place))?)
}

/// The fastest of what is done in L1d, by the paper's accesses.
fn fastest(e: &Evidence<'_>, what: &str) -> Result<Interval, Untestable> {
    let label = series(what, PAPER);
    let l1 = e.machine.ranges.l1;
    let inside = e.series(&label)?.into_iter().filter(|(x, _)| l1.holds(*x));
    let values = inside.map(|(_, value)| value.widened(0.01));
    values
        .reduce(Interval::most)
        .ok_or_else(|| Untestable(format!("no point of `{label}` lies in the {l1}")))
}

/// Streams of reads in L2 that the first TLB covers and that it does not.
const COVERED: &str = "read, 2/3 of what the L1 dTLB reaches";
const BEYOND: &str = "read, 5/4 of what the L1 dTLB reaches";

/// Bytes that the entries of the L1 dTLB reach in 4 KiB pages.
fn reach(machine: &Machine) -> Option<usize> {
    let tlb = machine.calibration.tlb(1, PAGE as u64)?;
    Some(tlb.entries as usize * PAGE)
}

/// Both streams, where both lie in L2.
fn about_the_reach(machine: &Machine) -> Vec<Case> {
    let Some(reach) = reach(machine) else {
        return Vec::new();
    };
    let sizes = [(COVERED, reach / 3 * 2), (BEYOND, reach / 4 * 5)];
    if !sizes
        .iter()
        .all(|(_, bytes)| machine.ranges.l2.holds(*bytes as f64))
    {
        return Vec::new();
    }
    let mover = Mover::Vectors(PAPER);
    let cases = sizes.map(|(label, bytes)| case(label.to_owned(), bytes, Motion::Read, mover));
    let both = cases.into_iter().flatten();
    both.map(|case| Case {
        x: reach as f64,
        ..case.in_turn()
    })
    .collect()
}

/// What a stream in L2 loses where it outgrows the reach of the first TLB.
fn beyond_the_reach(e: &Evidence<'_>) -> Judged {
    // Without any point, why there is none is the reason.
    level(e, READ, PAPER, L2)?;
    let reach = reach(e.machine)
        .ok_or_else(|| Untestable::because("CPUID does not tell the entries of the L1 dTLB"))?;
    if e.points.iter().all(|point| point.series != COVERED) {
        return Err(Untestable(format!(
            "the L1 dTLB reaches {} KiB: two thirds of that and five quarters do not both lie in the \
             {}",
            reach >> 10,
            e.machine.ranges.l2
        )));
    }
    let faster = paired_at(e, COVERED, BEYOND, reach as f64)?;
    at_least("reads within the reach over reads beyond", faster, 1.03)
}

/// The curves of the figure, without the pair of points about the TLB.
fn figure_curves(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = plain_curves(e);
    curves.retain(|curve| ![COVERED, BEYOND].contains(&curve.label.as_str()));
    curves
}

pub(crate) const FIG_3_24: Experiment = Experiment {
    id: "D36",
    name: "drepper-fig-3.24",
    title: "Bandwidth of a CPU whose L1d writes through",
    question: "What can one thread read, write and copy per cycle, as the working set grows?",
    source: "Drepper 3.5.1, Figure 3.24: Pentium 4, 64-bit mode",
    about: "Where the first level writes back, a store to L1d is as cheap as one port lets it \
            be, and does not wait for L2. Writing to memory reads each line before it and writes \
            it back behind; where both overlap with the next lines, less is lost. The first TLB \
            ends inside the reach of L2, which a stream shows by a small step.",
    seen: &[],
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.24.csv", PENTIUM_4),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| {
        let mut cases = figure_cases(machine);
        cases.extend(about_the_reach(machine));
        cases
    },
    curves: figure_curves,
    events: events::BANDWIDTH,
    claims: &[
        // 16 bytes per cycle in L1d, less than 6 beyond.
        measured(
            "D36.1",
            drepper("3.5.1, Figure 3.24"),
            "the fastest reading of L1d by 16-byte loads is more than twice as fast as reading L2",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, READ, PAPER, L2));
                at_least("fastest reads in L1d over L2", faster, 2.0)
            },
        )
        .then(2.8, PENTIUM_4),
        // Writes never rise above 4 bytes per cycle, as L1d writes through, while reads reach 16.
        measured(
            "D36.2",
            drepper("3.5.1, Figure 3.24"),
            "the fastest reading of L1d by 16-byte accesses is more than 3 times as fast as \
             writing it",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, WRITE, PAPER, L1));
                at_least("fastest reads over writes", faster, 3.0)
            },
        )
        .then(4.4, PENTIUM_4)
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "Reading over writing L1d",
                "Reading L1d is {now} as fast as writing it",
            )
            .advice(
                "Keep intermediate results in registers: stores are the bottleneck.",
                "Stores into L1d are not the bottleneck that they were: count loads and stores \
                 alike.",
            ),
        )
        .failing("L1d does not write through: stores to it need not wait for L2."),
        // Beyond L2 writes are slower than reads by a factor of ten.
        measured(
            "D36.3",
            drepper("3.5.1, Figure 3.24"),
            "reading memory by 16-byte accesses is more than 5 times as fast as writing it",
            |e| {
                compare(
                    e,
                    (READ, Memory),
                    (WRITE, Memory),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 5.0),
                )
            },
        )
        .then(9.7, PENTIUM_4)
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "Reading over writing memory",
                "Reading memory is {now} as fast as writing it",
            )
            .advice(
                "Recompute rather than store, and write each line once.",
                "Writing memory costs about what its traffic says: count bytes in both \
                 directions.",
            ),
        )
        .failing(
            "Reading a line before it is written, and writing it back, overlap with the next \
             lines.",
        ),
        // Copies are not significantly worse than writes: 0.5 bytes per cycle both.
        measured(
            "D36.4",
            drepper("3.5.1, Figure 3.24"),
            "in memory a copy by 16-byte accesses is as fast as a write alone, within 20 %",
            |e| {
                compare(
                    e,
                    (COPY, Memory),
                    (WRITE, Memory),
                    "copies over writes",
                    |what, faster| between(what, faster, 0.8, 1.2),
                )
            },
        )
        .then(1.0, PENTIUM_4)
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "Copying over writing memory",
                "A copy in memory runs at {now} the rate of a write alone",
            )
            .advice(
                "Fuse copies with the work on the data: reading comes nearly free.",
                "Count both sides of a copy: reading is not free.",
            ),
        ),
        // The step at 2^18 bytes comes from the exhaustion of the DTLB, which means more work for each
        // new page: 5.7 to 5.3 bytes per cycle.
        measured(
            "D36.5",
            drepper("3.5.1, Figure 3.24"),
            "reading falls by more than 3 % where a stream in L2 outgrows the reach of the L1 dTLB",
            beyond_the_reach,
        )
        .then(1.07, PENTIUM_4)
        .failing("The stream is not slowed down by the translations that the L1 dTLB lacks."),
    ],
};

pub(crate) const FIG_3_26: Experiment = Experiment {
    id: "D38",
    name: "drepper-fig-3.26",
    title: "Bandwidth of a CPU whose prefetcher keeps up",
    question: "Can prefetching make reading memory as fast as reading L1d, and what of writing?",
    source: "Drepper 3.5.1, Figure 3.26: Core 2",
    about: "The Core 2 read 16 bytes per cycle from everywhere: one load port was all it had, and \
            memory kept up. Ports have grown several times over since, one core's share of \
            memory a cycle has not. Prefetchers can hide L2 from 16-byte loads; the bandwidth of \
            memory they cannot raise.",
    seen: &[],
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.26.csv",
            "Core 2, 32 KiB L1d, 4 MiB L2 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // Reads hover around the optimal 16 bytes per cycle throughout: prefetching keeps up.
        measured(
            "D38.1",
            drepper("3.5.1, Figure 3.26"),
            "reading memory by 16-byte loads keeps 0.9 of the bandwidth of L1d",
            |e| {
                compare(
                    e,
                    (READ, Memory),
                    (READ, L1),
                    "reads, memory over L1d",
                    |what, kept| at_least(what, kept, 0.9),
                )
            },
        )
        .then(0.96, "Core 2")
        .takeaway(
            Takeaway::new(
                Shown::Share,
                Touches::Many,
                "Bandwidth of L1d that reads of memory keep",
                "Reads of memory keep {now} of the bandwidth of L1d",
            )
            .advice(
                "Stream data in order: the prefetchers keep up with 16-byte loads.",
                "Work in blocks that fit a cache: one core cannot stream memory as fast as it \
                 computes.",
            ),
        )
        .failing(
            "Prefetching cannot make memory as fast as L1d: what one core may have outstanding \
             limits it.",
        ),
        // Writes reach nearly 16 bytes per cycle in L1d and 0.7 to 0.5 in memory.
        measured(
            "D38.2",
            drepper("3.5.1, Figure 3.26"),
            "writing L1d by 16-byte stores is more than 10 times as fast as writing memory",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (WRITE, Memory),
                    "writes, L1d over memory",
                    |what, faster| at_least(what, faster, 10.0),
                )
            },
        )
        .then_between(22.0, 27.0, "Core 2")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "Writing L1d over writing memory",
                "Writing L1d is {now} as fast as writing memory",
            )
            .advice(
                "Finish with a block while it is in a cache, and write it to memory once.",
                "Writing in blocks gains less than it did; order matters more.",
            ),
        ),
        // Once L1d is not sufficient, the speed of writes drops significantly: 15.4 to 6.6 bytes
        // per cycle.
        measured(
            "D38.3",
            drepper("3.5.1, Figure 3.26"),
            "writing L1d by 16-byte stores is more than twice as fast as writing L2",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (WRITE, L2),
                    "writes, L1d over L2",
                    |what, faster| at_least(what, faster, 2.0),
                )
            },
        )
        .then(2.3, "Core 2"),
        // Written data stays in L1d, so that writes come close to the optimal 16 bytes per cycle,
        // as reads do.
        measured(
            "D38.4",
            drepper("3.5.1, Figure 3.26"),
            "in L1d writing by 16-byte stores is as fast as reading, within 20 %",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (READ, L1),
                    "writes over reads",
                    |what, kept| between(what, kept, 0.8, 1.2),
                )
            },
        )
        .then(0.96, "Core 2"),
    ],
};

pub(crate) const FIG_3_28: Experiment = Experiment {
    id: "D40",
    name: "drepper-fig-3.28",
    title: "Bandwidth of a CPU with three levels of cache",
    question: "What does each of three levels leave of the bandwidth of the one before?",
    source: "Drepper 3.5.1, Figure 3.28: AMD Opteron, family 10h",
    about: "Most cores since execute two loads and one store per cycle. The path \
            between L1d and L2 has grown to a line every cycle or two. The Opteron's reads leave \
            their peak at a quarter of its L1d, so that the fastest point in L1d is compared.",
    seen: &[],
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.28.csv",
            "Opteron, family 10h, 64 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // Two instructions per cycle in L1d: reads exceed 32 bytes per cycle, writes reach 18.7.
        measured(
            "D40.1",
            drepper("3.5.1, Figure 3.28"),
            "the fastest reading of L1d by 16-byte loads is more than 1.5 times as fast as the \
             fastest writing",
            |e| {
                let faster = ratio(fastest(e, READ)?, fastest(e, WRITE)?);
                at_least("fastest reads over fastest writes", faster, 1.5)
            },
        )
        .then(1.9, "Opteron, family 10h"),
        // The read curve flattens quickly, from more than 32 to 2.3 bytes per cycle.
        measured(
            "D40.2",
            drepper("3.5.1, Figure 3.28"),
            "reading by 16-byte loads falls to a tenth or less from its fastest in L1d to L2",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, READ, PAPER, L2));
                at_least("fastest reads in L1d over L2", faster, 10.0)
            },
        )
        .then(14.8, "Opteron, family 10h")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Few,
                "Reading L1d over reading L2",
                "Reading L1d is {now} as fast as reading L2 in order",
            )
            .advice(
                "Size the inner blocks of a loop for L1d.",
                "For reads in order, blocks sized for L2 do nearly as well as blocks sized for \
                 L1d.",
            ),
        )
        .failing("L2 is prefetched, or near enough, for loads of 16 bytes."),
        // Copies cannot be faster than reads or writes, and take both: 9 bytes per cycle against
        // 18.7.
        measured(
            "D40.3",
            drepper("3.5.1, Figure 3.28"),
            "in L1d a copy by 16-byte accesses is less than 0.6 times as fast as a write",
            |e| {
                compare(
                    e,
                    (COPY, L1),
                    (WRITE, L1),
                    "copies over writes",
                    |what, kept| at_most(what, kept, 0.6),
                )
            },
        )
        .then(0.48, "Opteron, family 10h")
        .failing("A copy loads and stores in the same cycle, and runs at the rate of the stores."),
        // 6 bytes per cycle for L2 and 0.5 for memory.
        measured(
            "D40.4",
            drepper("3.5.1, Figure 3.28"),
            "writing L2 by 16-byte stores is more than 5 times as fast as writing memory",
            |e| {
                compare(
                    e,
                    (WRITE, L2),
                    (WRITE, Memory),
                    "writes, L2 over memory",
                    |what, faster| at_least(what, faster, 5.0),
                )
            },
        )
        .then_between(10.9, 12.2, "Opteron, family 10h"),
    ],
};
