//! Figures 3.24, 3.26 and 3.28: what the paper measured on three CPUs, by its 16-byte accesses.

use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::Mover;
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Memory};
use crate::experiment::topics::bandwidth::{
    BY_VECTORS, BYTES_A_CYCLE, COPY, PAPER, READ, WRITE, case, level, series, without_repetition,
    working_sets,
};
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

pub(crate) const FIG_3_24: Experiment = Experiment {
    id: "D36",
    name: "drepper-fig-3.24",
    title: "Bandwidth of a CPU whose L1d writes through",
    question: "What can one thread read, write and copy a cycle, as the working set grows?",
    source: "Drepper 3.5.1, Figure 3.24: Pentium 4, 64-bit mode",
    seen: &[],
    about: "The first level writes back everywhere, so a store to L1d is as cheap as one port lets \
            it be, and no longer waits for L2. Writing to memory still reads each line before it \
            and writes it back behind, but both overlap: the factor of ten to reading is gone.",
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.24.csv", PENTIUM_4),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        measured(
            "D36.1",
            UNSURE,
            "reading L1d is more than twice as fast as reading L2",
            |e| {
                compare(
                    e,
                    (READ, L1),
                    (READ, L2),
                    "reads, L1d over L2",
                    |what, faster| at_least(what, faster, 2.0),
                )
            },
        ),
        measured(
            "D36.2",
            UNSURE,
            "reading L1d is more than 3 times as fast as writing it, for writes go through",
            |e| {
                compare(
                    e,
                    (READ, L1),
                    (WRITE, L1),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 3.0),
                )
            },
        ),
        measured(
            "D36.3",
            UNSURE,
            "reading memory is more than 5 times as fast as writing it",
            |e| {
                compare(
                    e,
                    (READ, Memory),
                    (WRITE, Memory),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 5.0),
                )
            },
        ),
        measured(
            "D36.4",
            UNSURE,
            "in memory a copy is as fast as a write alone, within 20 %",
            |e| {
                compare(
                    e,
                    (COPY, Memory),
                    (WRITE, Memory),
                    "copies over writes",
                    |what, faster| between(what, faster, 0.8, 1.2),
                )
            },
        ),
    ],
};

pub(crate) const FIG_3_26: Experiment = Experiment {
    id: "D38",
    name: "drepper-fig-3.26",
    title: "Bandwidth of a CPU whose prefetcher keeps up",
    question: "Can prefetching make reading memory as fast as reading L1d, and what of writing?",
    source: "Drepper 3.5.1, Figure 3.26: Core 2",
    seen: &[],
    about: "The Core 2 read 16 bytes a cycle from everywhere, for one load port was all it had, and \
            memory kept up. Ports have grown several times over since, one core's share of \
            memory a cycle has not. Prefetchers still hide L2 from 16-byte loads; the bandwidth \
            of memory they cannot raise.",
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
        measured(
            "D38.1",
            UNSURE,
            "reading memory keeps 0.9 of the bandwidth of L1d",
            |e| {
                compare(
                    e,
                    (READ, Memory),
                    (READ, L1),
                    "reads, memory over L1d",
                    |what, kept| at_least(what, kept, 0.9),
                )
            },
        ),
        measured(
            "D38.2",
            UNSURE,
            "writing L1d is more than 10 times as fast as writing memory",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (WRITE, Memory),
                    "writes, L1d over memory",
                    |what, faster| at_least(what, faster, 10.0),
                )
            },
        ),
        measured(
            "D38.3",
            UNSURE,
            "writing L1d is more than twice as fast as writing L2",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (WRITE, L2),
                    "writes, L1d over L2",
                    |what, faster| at_least(what, faster, 2.0),
                )
            },
        ),
        measured(
            "D38.4",
            UNSURE,
            "in L1d writing is as fast as reading, within 20 %",
            |e| {
                compare(
                    e,
                    (WRITE, L1),
                    (READ, L1),
                    "writes over reads",
                    |what, kept| between(what, kept, 0.8, 1.2),
                )
            },
        ),
    ],
};

pub(crate) const FIG_3_28: Experiment = Experiment {
    id: "D40",
    name: "drepper-fig-3.28",
    title: "Bandwidth of a CPU with three levels of cache",
    question: "What does each of three levels leave of the bandwidth of the one before?",
    source: "Drepper 3.5.1, Figure 3.28: AMD Opteron, family 10h",
    seen: &[],
    about: "Two loads a cycle against one store has stayed the balance of most cores. The path \
            between L1d and L2 has grown to a line every cycle or two, so that 16-byte accesses no \
            longer notice L2; and a copy, a load and a store a cycle, runs as fast as the stores.",
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
        measured(
            "D40.1",
            UNSURE,
            "reading L1d is more than 1.5 times as fast as writing it",
            |e| {
                compare(
                    e,
                    (READ, L1),
                    (WRITE, L1),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 1.5),
                )
            },
        ),
        measured(
            "D40.2",
            UNSURE,
            "reading falls to a tenth from L1d to L2",
            |e| {
                compare(
                    e,
                    (READ, L1),
                    (READ, L2),
                    "reads, L1d over L2",
                    |what, faster| at_least(what, faster, 10.0),
                )
            },
        ),
        measured(
            "D40.3",
            UNSURE,
            "in L1d a copy is less than 0.6 times as fast as a write",
            |e| {
                compare(
                    e,
                    (COPY, L1),
                    (WRITE, L1),
                    "copies over writes",
                    |what, kept| at_most(what, kept, 0.6),
                )
            },
        ),
        measured(
            "D40.4",
            UNSURE,
            "writing L2 is more than 5 times as fast as writing memory",
            |e| {
                compare(
                    e,
                    (WRITE, L2),
                    (WRITE, Memory),
                    "writes, L2 over memory",
                    |what, faster| at_least(what, faster, 5.0),
                )
            },
        ),
    ],
};
