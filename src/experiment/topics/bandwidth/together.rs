//! Figures 3.25, 3.27 and 3.29: two threads read, write and copy the same memory.

use crate::experiment::claim::verdict::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthGroupSetup, Owner};
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Llc, Memory};
use crate::experiment::topics::bandwidth::{
    BYTES_A_CYCLE, COPY, OF_FIGURES, READ, WRITE, by_16_bytes, sizes, whole_blocks,
    without_repetition,
};
use crate::host::Nearness;
use crate::kernel::Motion;
use Threads::{One, Own, Same};

/// The number of threads of a series, and whether they share their memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    One,
    Same,
    Own,
}

impl Threads {
    const ALL: [Threads; 3] = [One, Same, Own];

    const fn name(self) -> &'static str {
        match self {
            One => "one thread",
            Same => "same memory",
            Own => "own memory",
        }
    }
}

fn series(what: &str, threads: Threads) -> String {
    format!("{what}, {}", threads.name())
}

/// Returns the bandwidth per thread of a series in a place, in bytes per core cycle.
fn level(e: &Evidence<'_>, what: &str, threads: Threads, place: Place) -> Testable<Reading> {
    super::level(e, &series(what, threads), place)
}

/// Two CPUs, or the reason why there are none.
type Pair = Testable<[usize; 2]>;

/// Returns the nearest two CPUs on different cores.
fn cores(machine: &Machine) -> Pair {
    machine.cpu_order.two_cores()
}

/// Returns two hyper-threads of one core.
fn hyper_threads(machine: &Machine) -> Pair {
    machine.cpu_order.pair(Nearness::Core)
}

/// Returns the cases of a figure, with two threads on a pair of CPUs. Without a pair, returns only
/// the cases of one thread.
fn figure_cases(machine: &Machine, pair: &Pair, kinds: &[Threads]) -> Vec<Case> {
    let mut cases = Vec::new();
    for bytes in sizes(machine) {
        for of in OF_FIGURES {
            cases.extend(kinds.iter().filter_map(|&kind| case(machine, pair, of, kind, bytes)));
        }
    }
    without_repetition(cases)
}

fn case(
    machine: &Machine,
    pair: &Pair,
    (what, motion): (&str, Motion),
    threads: Threads,
    bytes: usize,
) -> Option<Case> {
    let bytes = whole_blocks(bytes, motion)?;
    let of = by_16_bytes(bytes, motion);
    let (label, x) = (series(what, threads), bytes as f64);
    let owner = match threads {
        One => return Some(Case::new(label, x, of)),
        Same => Owner::All,
        Own => Owner::Each,
    };
    let room = owner == Owner::All || 2 * bytes <= machine.largest;
    let setup = BandwidthGroupSetup { of, owner, cpus: pair.as_ref().ok()?.to_vec() };
    room.then(|| Case::new(label, x, setup))
}

/// Returns the pair of CPUs, or the reason why nothing was measured or there is no pair.
fn timed_on(e: &Evidence<'_>, pair: fn(&Machine) -> Pair) -> Testable<[usize; 2]> {
    // If nothing was measured, the reason for that is reported.
    level(e, READ, One, L1)?;
    pair(e.machine)
}

/// Judges the bandwidth of each of two threads over that of one thread alone, in several places.
fn kept(
    e: &Evidence<'_>,
    pair: fn(&Machine) -> Pair,
    parts: &[(&str, Threads, Place)],
    judge: impl Fn(&str, Interval) -> Judged,
) -> Judged {
    timed_on(e, pair)?;
    all_of(parts.iter().map(|&(what, threads, place)| {
        let each = ratio(level(e, what, threads, place), level(e, what, One, place))?;
        let what = format!("{what}, {}, {}", threads.name(), place.name());
        judge(&format!("{what}: each of two over one alone"), each)
    }))
}

/// Judges whether each thread is half as fast, within tolerance.
fn half(what: &str, each: Interval) -> Judged {
    between(what, each, 0.4, 0.65)
}

/// Judges whether each thread is as fast, within tolerance.
fn as_much(what: &str, each: Interval) -> Judged {
    between(what, each, 0.9, 1.1)
}

pub(crate) const FIG_3_25: Experiment = Experiment {
    id: "D37",
    name: "drepper-fig-3.25",
    title: "Bandwidth of two hyper-threads",
    question: "How many bytes per cycle does each of two threads of one core read, write and copy?",
    source: "Drepper 3.5.1, Figure 3.25: Pentium 4 with 2 hyper-threads",
    about: "One or two hyper-threads of one core read, write and copy buffers by 16-byte accesses; \
            the chart shows bytes per cycle per thread by working set. Both threads share the load \
            and store ports, L1d and the fill buffers of the core. Where one thread alone uses \
            such a resource fully, each of two threads gets half. Where one thread leaves some of \
            it unused, such as fill buffers in memory, two threads together get more than one.",
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.25.csv", PENTIUM_4, ", same memory"),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &hyper_threads(machine), &[One, Same]),
    events: events::BANDWIDTH,
    claims: &[
        // Hyper-threads share all but the registers: each has half of the cache and of the
        // bandwidth.
        measured(
            "D37.1",
            drepper("3.5.1, Figure 3.25"),
            "in L1d, each of two hyper-threads reads, writes and copies half as fast as one thread \
             alone (0.4 to 0.65)",
            |e| {
                let parts = [(READ, Same, L1), (WRITE, Same, L1), (COPY, Same, L1)];
                kept(e, hyper_threads, &parts, half)
            },
        )
        .then(0.48, PENTIUM_4),
        // Each thread has half of the bandwidth.
        measured(
            "D37.2",
            drepper("3.5.1, Figure 3.25"),
            "in L2, each of two hyper-threads reads half as fast as one thread alone (0.4 to 0.65)",
            |e| kept(e, hyper_threads, &[(READ, Same, L2)], half),
        )
        .then(0.48, PENTIUM_4),
        // While one thread waits for memory, so does the other: half each.
        measured(
            "D37.3",
            drepper("3.5.1, Figure 3.25"),
            "in memory, each of two hyper-threads reads and writes half as fast as one thread \
             alone (0.4 to 0.65)",
            |e| kept(e, hyper_threads, &[(READ, Same, Memory), (WRITE, Same, Memory)], half),
        )
        .then(0.50, PENTIUM_4),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_27: Experiment = Experiment {
    id: "D39",
    name: "drepper-fig-3.27",
    title: "Bandwidth of two cores, on the same memory and on separate memory",
    question: "How much bandwidth does each of two threads on two cores keep, on the same memory \
               and on memory of its own?",
    source: "Drepper 3.5.1, Figure 3.27: Core 2 with 2 threads, on the same memory. The paper does \
             not say how far apart the threads are; here they start half of the working set apart. \
             The figure does not show threads on memory of their own",
    about: "Two threads on two cores read, write and copy by 16-byte accesses, both on the same \
            buffer or each on its own; the chart shows bytes per cycle per thread by working set. \
            A core may write a line only while no other core has it. Two cores that write the same \
            buffer in L1d therefore pass each line back and forth. A store queue can request the \
            lines of all its waiting stores at once, about 16 lines with 16-byte stores, and thus \
            hide part of the transfers. Separate buffers lie in separate caches, and should be as \
            fast as with one thread. A hypervisor may present two hyper-threads of one core as two \
            cores, which share all its resources as in Figure 3.25. The threads check for this in \
            every round, and such passes are left out.",
    seen: &[seen(
        "Zen 4",
        "Two cores that write the same L1d-sized memory each keep a third of the bandwidth.",
    )],
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.27.csv",
            "Core 2, 32 KiB L1d, 4 MiB L2 (2007)",
            ", same memory"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &cores(machine), &Threads::ALL),
    events: events::BANDWIDTH,
    claims: &[
        // Two threads that read the same memory each read as fast as one thread.
        measured(
            "D39.1",
            drepper("3.5.1, Figure 3.27"),
            "in L1d and L2, two threads that read the same memory each read as fast as one thread \
             alone (0.9 to 1.1)",
            |e| kept(e, cores, &[(READ, Same, L1), (READ, Same, L2)], as_much),
        )
        .then(1.0, "Core 2"),
        // In sizes that would fit L1d both threads compete for the lines, and writes and copies
        // fall to the speed of memory: 0.5 of 15.2 bytes per cycle.
        measured(
            "D39.2",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write the same L1d-sized memory, or copy within it, are each less \
             than 0.3 times as fast as one thread alone",
            |e| {
                let parts = [(WRITE, Same, L1), (COPY, Same, L1)];
                kept(e, cores, &parts, |what, each| at_most(what, each, 0.3))
            },
        )
        .then(0.034, "Core 2")
        .takeaway(
            Shown::Share,
            Touches::Most,
            "Speed that each of two threads keeps, writing the same lines",
            "Two threads that write the same lines keep {now} of their speed each",
        )
        .advice(
            "Give each thread its own data to write, and share only data that no thread writes.",
            "Plain streams of stores to shared lines cost less than in the paper; atomic \
             operations pay the full cost.",
        )
        .failing("A store queue that requests many lines at once hides part of the transfers."),
        // Writes of shared memory are as slow as if the data had to be read from memory.
        measured(
            "D39.3",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write the same L1d-sized memory are each 0.5 to 2 times as fast as \
             one thread that writes memory",
            |e| {
                timed_on(e, cores)?;
                let same = ratio(level(e, WRITE, Same, L1), level(e, WRITE, One, Memory))?;
                between("the same memory in L1d over one thread in memory", same, 0.5, 2.0)
            },
        )
        .then_between(0.74, 0.89, "Core 2")
        .failing("A transfer between these two cores and a write to memory do not cost the same."),
        measured(
            "D39.4",
            ours("the control for the figure, whose threads share all memory"),
            "in L1d and L2, two threads with memory of their own each read, write and copy as fast \
             as one thread alone (0.9 to 1.1)",
            |e| {
                if e.machine.cpu_order.nearest_core()? == Nearness::Level2 {
                    return Err(Untestable("the two cores share an L2".to_owned()));
                }
                let parts =
                    [L1, L2].map(|place| [READ, WRITE, COPY].map(|what| (what, Own, place)));
                kept(e, cores, parts.as_flattened(), as_much)
            },
        ),
        // Both cores share one bus, so that each has half of it for large working sets.
        measured(
            "D39.5",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write memory are each less than 0.75 times as fast as one thread \
             alone",
            |e| kept(e, cores, &[(WRITE, Same, Memory)], |what, each| at_most(what, each, 0.75)),
        )
        .then_between(0.58, 0.61, "Core 2")
        .takeaway(
            Shown::Share,
            Touches::Some,
            "Speed that each of two threads keeps, writing memory",
            "Two threads that write memory keep {now} of their speed each",
        )
        .advice(
            "Do not expect a second thread to double the write bandwidth: memory is the limit.",
            "A second thread adds bandwidth for writes: use it.",
        )
        .failing(
            "One core cannot use the full bandwidth of memory for its writes, and leaves enough \
             for a second core.",
        ),
        // Once L1d is not sufficient, lines are flushed to the shared L2 and the speed is reduced by
        // half: 3.96 of 6.58 bytes per cycle.
        measured(
            "D39.6",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write the same L2-sized memory are each half as fast as one thread \
             alone (0.4 to 0.65)",
            |e| kept(e, cores, &[(WRITE, Same, L2)], half),
        )
        .then(0.60, "Core 2")
        .failing(
            "The lines move between the two cores in every lap, and that does not cost here what \
             it cost then.",
        ),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_29: Experiment = Experiment {
    id: "D41",
    name: "drepper-fig-3.29",
    title: "Bandwidth of two cores that share a last level",
    question: "How fast are two cores that write or read the same memory, by the level where the \
               memory lies?",
    source: "Drepper 3.5.1, Figure 3.29: AMD Opteron, family 10h, with 2 threads on the same \
             memory",
    about: "Two threads on two cores read, write and copy the same buffer by 16-byte accesses; the \
            chart shows bytes per cycle per thread by working set. When both cores write, each \
            must fetch every line from the other core's caches, and the other core soon wants the \
            line back. When the buffer has outgrown the private caches, each core finds the lines \
            in the shared last level, which may be faster. Lines that are only read stay in both \
            cores' caches. In a guest, the share of the last level that the guest gets is unknown.",
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.29.csv",
            "Opteron, family 10h, 64 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)",
            ", same memory"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &cores(machine), &[One, Same]),
    events: events::BANDWIDTH,
    claims: &[
        // The read performance is largely unaffected by the second thread. In the figure, 0.8 of it
        // is left in L1d and in memory.
        measured(
            "D41.1",
            drepper("3.5.1, Figure 3.29"),
            "in L1d and L2, two threads that read the same memory hardly slow each other: each is \
             at least 0.75 times as fast as one thread alone",
            |e| {
                let parts = [(READ, Same, L1), (READ, Same, L2)];
                kept(e, cores, &parts, |what, each| at_least(what, each, 0.75))
            },
        )
        .then(0.80, "Opteron, family 10h"),
        // The big problem is writing: all data that the threads share goes through L3; 0.13 to 0.3
        // of 18.7 bytes per cycle.
        measured(
            "D41.2",
            drepper("3.5.1, Figure 3.29"),
            "two threads that write the same L1d-sized memory are each less than 0.05 times as \
             fast as one thread alone",
            |e| kept(e, cores, &[(WRITE, Same, L1)], |what, each| at_most(what, each, 0.05)),
        )
        .then(0.014, "Opteron, family 10h")
        .failing(
            "Stores to a line wait in the store buffer, and are written together once the core has \
             the line.",
        ),
        // Writes come near the speed of L3 only in a small range of working sets near its size. In
        // the figure, they are faster there than in L1d.
        measured(
            "D41.3",
            drepper("3.5.1, Figure 3.29"),
            "two threads write the same memory faster if it outgrows L2 and fits the last level \
             than if it fits in L1d",
            |e| {
                timed_on(e, cores)?;
                let faster = ratio(level(e, WRITE, Same, Llc), level(e, WRITE, Same, L1))?;
                let what = "writes of the same memory, last level over L1d";
                unless_strangers(e, at_least(what, faster, 1.0))
            },
        )
        .then(3.0, "Opteron, family 10h"),
        // The two threads do not stress the levels behind their caches. In the figure, 0.8 is left
        // in memory, of reads that are prefetched badly.
        measured(
            "D41.4",
            drepper("3.5.1, Figure 3.29"),
            "in memory, beyond all caches, two threads that read the same data hardly slow each \
             other: each is at least 0.75 times as fast as one thread alone",
            |e| kept(e, cores, &[(READ, Same, Memory)], |what, each| at_least(what, each, 0.75)),
        )
        .then(0.80, "Opteron, family 10h")
        .failing("One core comes closer to saturating memory than the core of the figure did."),
    ],
    ..Experiment::PLAIN
};
