//! Figures 3.24, 3.26 and 3.28: the paper's results on three CPUs, with 16-byte accesses.

use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::Mover;
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Memory};
use crate::experiment::topics::bandwidth::{
    BYTES_A_CYCLE, COPY, OF_FIGURES, PAPER, READ, WRITE, by_width, case, series,
    without_repetition, working_sets,
};
use crate::kernel::Motion;

/// Cases of the figures: the paper's motions, over all working sets.
fn figure_cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for bytes in working_sets(machine) {
        cases.extend(OF_FIGURES.iter().filter_map(|&(what, motion)| {
            case(series(what, PAPER), bytes, motion, Mover::Vectors(PAPER))
        }));
    }
    without_repetition(cases)
}

/// Returns the bandwidth of a motion in a place, with 16-byte accesses.
fn level(e: &Evidence<'_>, what: &str, place: Place) -> Testable<Reading> {
    by_width(e, what, PAPER, place)
}

/// Returns the ratio of the bandwidths of two motions, each in its place.
fn over(e: &Evidence<'_>, of: (&str, Place), to: (&str, Place)) -> Testable<Interval> {
    ratio(level(e, of.0, of.1)?, level(e, to.0, to.1))
}

/// Returns the fastest point of a motion in L1d, with 16-byte accesses.
fn fastest(e: &Evidence<'_>, what: &str) -> Testable<Interval> {
    let label = series(what, PAPER);
    let l1 = e.machine.ranges.l1;
    let inside = e.series(&label)?.into_iter().filter(|(x, _)| l1.holds(*x));
    let fastest = inside.map(|(_, value)| value.widened(0.01)).reduce(Interval::most);
    fastest.ok_or_else(|| Untestable(format!("no point of `{label}` lies in the {l1}")))
}

/// Series of reads in L2: of a buffer that the L1 dTLB covers, and of a buffer that exceeds its reach.
const COVERED: &str = "read, 2/3 of what the L1 dTLB reaches";
const BEYOND: &str = "read, 5/4 of what the L1 dTLB reaches";

/// Returns the cases of both series if both lie in L2, and none otherwise.
fn about_the_reach(machine: &Machine) -> Vec<Case> {
    let Some(reach) = machine.calibration.dtlb_reach() else { return Vec::new() };
    let sizes = [(COVERED, reach / 3 * 2), (BEYOND, reach / 4 * 5)];
    if !sizes.iter().all(|(_, bytes)| machine.ranges.l2.holds(*bytes as f64)) {
        return Vec::new();
    }
    let mover = Mover::Vectors(PAPER);
    let case = |(label, bytes): (&str, usize)| {
        let case = case(label.to_owned(), bytes, Motion::Read, mover)?;
        Some(Case { x: reach as f64, ..case.in_turn() })
    };
    sizes.into_iter().filter_map(case).collect()
}

/// Judges the loss of a stream in L2 that outgrows the reach of the L1 dTLB.
fn beyond_the_reach(e: &Evidence<'_>) -> Judged {
    // If nothing was measured, the reason for that is reported.
    level(e, READ, L2)?;
    let reach = e.machine.calibration.dtlb_reach().ok_or_else(|| {
        Untestable::because(
            "the entries of this core's L1 dTLB are not published, and CPUID does not report them",
        )
    })?;
    if e.points.iter().all(|point| point.series != COVERED) {
        return Err(Untestable(format!(
            "the L1 dTLB covers {} KiB; buffers of two thirds and of five quarters of that do not \
             both lie in the {}",
            reach >> 10,
            e.machine.ranges.l2
        )));
    }
    let faster = paired_at(e, COVERED, BEYOND, reach as f64)?;
    at_least("reads within the reach over reads beyond", faster, 1.03)
}

pub(crate) const FIG_3_24: Experiment = Experiment {
    id: "D36",
    name: "drepper-fig-3.24",
    title: "Bandwidth of one thread, compared with a Pentium 4",
    question: "How many bytes per cycle does one thread read, write and copy as the working set \
               grows?",
    source: "Drepper 3.5.1, Figure 3.24: Pentium 4, 64-bit mode",
    about: "One thread reads, writes and copies buffers by 16-byte accesses; the chart shows bytes \
            per cycle by working set. The paper's Pentium 4 has a write-through L1d: each store \
            also goes to L2. Where L1d writes back, a store to L1d does not wait for L2, and only \
            the store port limits it. A write to memory first reads the line and later writes it \
            back; the loss is smaller where both overlap with other lines. The L1 dTLB covers less \
            memory than fits in L2, so that a stream in L2 may slow down slightly where it \
            outgrows the dTLB. The paper's reads of memory need care: 5.3 bytes per cycle are 14.8 \
            GB/s at 2.8 GHz, and a bus of 8 bytes at 800 MHz carries 6.4 GB/s.",
    plot: Some(Plot { reference: reference!("drepper-fig-3.24.csv", PENTIUM_4), ..BYTES_A_CYCLE }),
    cases: |machine| {
        let mut cases = figure_cases(machine);
        cases.extend(about_the_reach(machine));
        cases
    },
    // Without the pair of points about the TLB.
    curves: |e| e.curves_of(|label| ![COVERED, BEYOND].contains(&label)),
    events: events::BANDWIDTH,
    claims: &[
        // The paper reads L1d at 16 bytes per cycle, and L2 and memory at less than 6.
        measured(
            "D36.1",
            drepper("3.5.1, Figure 3.24"),
            "at its fastest, reading L1d by 16-byte loads is more than twice as fast as reading L2",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, READ, L2));
                at_least("fastest reads in L1d over L2", faster, 2.0)
            },
        )
        .then(2.8, PENTIUM_4)
        .failing(
            "L2 and its prefetcher feed loads of 16 bytes at more than half the rate of L1d. Wider \
             loads show more of the difference.",
        ),
        // L1d writes through: writes never rise above 4 bytes per cycle, while reads reach 16.
        measured(
            "D36.2",
            drepper("3.5.1, Figure 3.24"),
            "at its fastest, reading L1d by 16-byte accesses is more than 3 times as fast as \
             writing L1d",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, WRITE, L1));
                at_least("fastest reads over writes", faster, 3.0)
            },
        )
        .then(4.4, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Reading over writing L1d, by 16 bytes",
            "Reading L1d 16 bytes at a time is {now} as fast as writing it",
        )
        .advice(
            "Keep intermediate results in registers: stores are the bottleneck.",
            "Stores into L1d are not the bottleneck that they were in 2007: count loads and stores \
             alike.",
        )
        .failing("L1d does not write through: stores need not wait for L2."),
        // Beyond L2, writes are slower than reads by a factor of ten.
        measured(
            "D36.3",
            drepper("3.5.1, Figure 3.24"),
            "reading memory by 16-byte accesses is more than 5 times as fast as writing memory",
            |e| at_least("reads over writes", over(e, (READ, Memory), (WRITE, Memory)), 5.0),
        )
        .then(9.7, PENTIUM_4)
        .beyond_its_bus()
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Reading over writing memory",
            "Reading memory is {now} as fast as writing it",
        )
        .advice(
            "Recompute results rather than store them, and write each line only once.",
            "Writing memory costs about as much as its traffic suggests: count bytes in both \
             directions.",
        )
        .failing(
            "A write reads its line before and writes it back later; both overlap with other \
             lines.",
        ),
        // Copies are not significantly worse than writes: both run at 0.5 bytes per cycle.
        measured(
            "D36.4",
            drepper("3.5.1, Figure 3.24"),
            "in memory, a copy by 16-byte accesses is as fast as a write, within 20 %",
            |e| between("copies over writes", over(e, (COPY, Memory), (WRITE, Memory)), 0.8, 1.2),
        )
        .then(1.0, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Copying over writing memory",
            "A copy in memory runs at {now} the rate of a write alone",
        )
        .advice(
            "Combine copies with other work on the data: the reads cost almost nothing.",
            "Count both sides of a copy: reading costs time, too.",
        )
        .failing("A copy also reads its source, which changes the time of its writes."),
        // The step at 2^18 bytes comes from the exhaustion of the DTLB, which means more work for each
        // new page: 5.7 to 5.3 bytes per cycle.
        measured(
            "D36.5",
            drepper("3.5.1, Figure 3.24"),
            "a stream of reads in L2 loses more than 3 % of its bandwidth where it outgrows the \
             reach of the L1 dTLB",
            beyond_the_reach,
        )
        .then(1.07, PENTIUM_4)
        .failing("The misses of the L1 dTLB do not slow the stream."),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_26: Experiment = Experiment {
    id: "D38",
    name: "drepper-fig-3.26",
    title: "Bandwidth of one thread, compared with a Core 2",
    question: "Can prefetching make reading memory as fast as reading L1d, and does it help \
               writing?",
    source: "Drepper 3.5.1, Figure 3.26: Core 2",
    about: "One thread reads, writes and copies buffers by 16-byte accesses; the chart shows bytes \
            per cycle by working set. The paper's Core 2 reads 16 bytes per cycle from every \
            level: that is the limit of its one load port, and prefetching from memory keeps up \
            with it. Since then, load ports have become several times faster, but the memory \
            bandwidth of one core per cycle has not. Prefetchers can hide the latency of L2 from \
            16-byte loads, but they cannot raise the bandwidth of memory. The paper's reads of \
            memory need care: 15.37 bytes per cycle are 41.0 GB/s at 2.67 GHz, and a bus of 8 \
            bytes at 1,333 MHz carries 10.7 GB/s.",
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.26.csv", "Core 2, 32 KiB L1d, 4 MiB L2 (2007)"),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    events: events::BANDWIDTH,
    claims: &[
        // Reads hover around the optimal 16 bytes per cycle throughout: prefetching keeps up.
        measured(
            "D38.1",
            drepper("3.5.1, Figure 3.26"),
            "reading memory by 16-byte loads reaches at least 0.9 of the bandwidth of reading L1d",
            |e| at_least("reads, memory over L1d", over(e, (READ, Memory), (READ, L1)), 0.9),
        )
        .then(0.96, "Core 2")
        .beyond_its_bus()
        .takeaway(
            Shown::Share,
            Touches::Many,
            "Reading memory over reading L1d",
            "Reads of memory reach {now} of the bandwidth of L1d",
        )
        .advice(
            "Access data sequentially: the prefetchers keep up with 16-byte loads.",
            "Work in blocks that fit in a cache: one core streams memory more slowly than it \
             computes.",
        )
        .failing(
            "Prefetching cannot make memory as fast as L1d: the number of outstanding misses \
             limits one core.",
        ),
        // Writes reach nearly 16 bytes per cycle in L1d and 0.7 to 0.5 in memory.
        measured(
            "D38.2",
            drepper("3.5.1, Figure 3.26"),
            "writing L1d by 16-byte stores is more than 10 times as fast as writing memory",
            |e| at_least("writes, L1d over memory", over(e, (WRITE, L1), (WRITE, Memory)), 10.0),
        )
        .then_between(22.0, 27.0, "Core 2")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Writing L1d over memory, by 16 bytes",
            "Writing L1d 16 bytes at a time is {now} as fast as writing memory",
        )
        .advice(
            "Finish all work on a block while it is in a cache, and write it to memory once.",
            "Writing in blocks gains less than in 2007; sequential order matters more.",
        )
        .failing(
            "The stores of one core are the limit in L1d, 16 bytes at a time. Memory takes more \
             than a tenth of that rate.",
        ),
        // Once L1d is not sufficient, the speed of writes drops significantly: 15.4 to 6.6 bytes
        // per cycle.
        measured(
            "D38.3",
            drepper("3.5.1, Figure 3.26"),
            "writing L1d by 16-byte stores is more than twice as fast as writing L2",
            |e| at_least("writes, L1d over L2", over(e, (WRITE, L1), (WRITE, L2)), 2.0),
        )
        .then(2.3, "Core 2")
        .failing(
            "L2 takes the lines that leave L1d at more than half the rate at which the core writes \
             16 bytes at a time.",
        ),
        // Written data stays in L1d, so that writes come close to the optimal 16 bytes per cycle,
        // as reads do.
        measured(
            "D38.4",
            drepper("3.5.1, Figure 3.26"),
            "in L1d, writing by 16-byte stores is as fast as reading, within 20 %",
            |e| between("writes over reads", over(e, (WRITE, L1), (READ, L1)), 0.8, 1.2),
        )
        .then(0.96, "Core 2")
        .failing("The core has different numbers of ports for loads and for stores."),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_28: Experiment = Experiment {
    id: "D40",
    name: "drepper-fig-3.28",
    title: "Bandwidth of one thread, compared with an Opteron",
    question: "How much bandwidth does each of three cache levels lose against the level before?",
    source: "Drepper 3.5.1, Figure 3.28: AMD Opteron, family 10h",
    about: "One thread reads, writes and copies buffers by 16-byte accesses; the chart shows bytes \
            per cycle by working set. The paper's Opteron executes two memory instructions per \
            cycle, and most cores since then execute two loads and one store per cycle. The path \
            between L1d and L2 has widened to one line every one or two cycles. The Opteron's \
            reads are fastest in a quarter of its L1d, so that the claims compare the fastest \
            point in L1d.",
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.28.csv",
            "Opteron, family 10h, 64 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    events: events::BANDWIDTH,
    claims: &[
        // The paper's Opteron executes two memory instructions per cycle. In L1d, reads exceed 32
        // bytes per cycle and writes reach 18.7.
        measured(
            "D40.1",
            drepper("3.5.1, Figure 3.28"),
            "at their fastest, reads of L1d by 16-byte loads are more than 1.5 times as fast as \
             writes by 16-byte stores",
            |e| {
                let faster = ratio(fastest(e, READ)?, fastest(e, WRITE)?);
                at_least("fastest reads over fastest writes", faster, 1.5)
            },
        )
        .then(1.9, "Opteron, family 10h")
        .failing(
            "A current core stores 16 bytes once or twice per cycle, and loads them two or three \
             times.",
        ),
        // The read curve flattens quickly, from more than 32 to 2.3 bytes per cycle.
        measured(
            "D40.2",
            drepper("3.5.1, Figure 3.28"),
            "reading L2 by 16-byte loads is at most a tenth as fast as the fastest reading of L1d",
            |e| {
                let faster = ratio(fastest(e, READ)?, level(e, READ, L2));
                at_least("fastest reads in L1d over L2", faster, 10.0)
            },
        )
        .then(14.8, "Opteron, family 10h")
        .takeaway(
            Shown::Times,
            Touches::Few,
            "Reading L1d over L2, by 16 bytes",
            "Reading L1d 16 bytes at a time is {now} as fast as reading L2",
        )
        .advice(
            "Choose inner blocks of a loop that fit in L1d.",
            "For sequential reads, blocks that fit in L1d gain no more than this factor over \
             blocks that fit in L2.",
        )
        .failing("Prefetching hides L2 from 16-byte loads, or L2 is fast enough without it."),
        // Copies cannot be faster than reads or writes, and need both: 9 bytes per cycle, where
        // writes reach 18.7.
        measured(
            "D40.3",
            drepper("3.5.1, Figure 3.28"),
            "in L1d, a copy by 16-byte accesses is less than 0.6 times as fast as a write",
            |e| at_most("copies over writes", over(e, (COPY, L1), (WRITE, L1)), 0.6),
        )
        .then(0.48, "Opteron, family 10h")
        .failing(
            "A copy can load and store in the same cycle, and runs at the rate of the stores.",
        ),
        // The paper writes L2 at 6 bytes per cycle and memory at 0.5.
        measured(
            "D40.4",
            drepper("3.5.1, Figure 3.28"),
            "writing L2 by 16-byte stores is more than 5 times as fast as writing memory",
            |e| at_least("writes, L2 over memory", over(e, (WRITE, L2), (WRITE, Memory)), 5.0),
        )
        .then_between(10.9, 12.2, "Opteron, family 10h")
        .failing(
            "Writes to memory overlap, as many as the core has buffers for, so that memory is not \
             far behind L2.",
        ),
    ],
    ..Experiment::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's bytes per cycle at a clock, and 8 bytes per transfer at the rate of a bus.
    #[test]
    fn the_papers_reads_of_memory_exceed_its_bus() {
        for (figure, bytes, ghz, mhz) in
            [(FIG_3_24, 5.3, 2.8, 800.0), (FIG_3_26, 15.37, 2.67, 1333.0)]
        {
            let [reads, bus] = [bytes * ghz, 8.0 * mhz / 1000.0];
            assert!(reads > 2.0 * bus);
            let says = |what: String| assert!(figure.about.contains(&what), "{what}");
            says(format!("{bytes} bytes per cycle are {reads:.1} GB/s at {ghz} GHz"));
            says(format!("carries {bus:.1} GB/s"));
            let marked =
                figure.claims.iter().filter(|of| of.then.is_some_and(|then| then.beyond_bus));
            assert_eq!(marked.count(), 1);
        }
    }
}
