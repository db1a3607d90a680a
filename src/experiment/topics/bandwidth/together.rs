//! Figures 3.25, 3.27 and 3.29: two threads read, write and copy the same memory.

use crate::experiment::claim::guest::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthSetup, BandwidthTeamSetup, Mover, Owner};
use crate::experiment::topics::bandwidth::{
    BY_VECTORS, BYTES_A_CYCLE, COPY, PAPER, READ, WRITE, a_size_a_level, working_sets,
};
use crate::os::sysfs::Nearness;
use crate::stats::Interval;
use Place::{L1, L2, Llc, Memory};
use Threads::{One, Own, Same};

/// The threads of a series, and whose memory they work on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    /// One.
    One,
    /// Two, and both on the same memory.
    Same,
    /// Two, and each on memory of its own.
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

/// Where a working set lives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    L1,
    L2,
    Llc,
    Memory,
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            L1 => "L1d",
            L2 => "L2",
            Llc => "the last level",
            Memory => "memory",
        }
    }

    fn range(self, machine: &Machine) -> Range {
        match self {
            L1 => machine.ranges.l1,
            L2 => machine.ranges.l2,
            Llc => machine.ranges.llc,
            Memory => machine.ranges.memory,
        }
    }
}

/// What a thread of a series gets in a place, in bytes per core cycle.
fn level(
    e: &Evidence<'_>,
    what: &str,
    threads: Threads,
    place: Place,
) -> Result<Interval, Untestable> {
    let label = series(what, threads);
    e.series(&label)?;
    match place {
        Memory => e.at(&label, e.machine.place_in_memory(e.machine.in_memory())?),
        _ => e.level(&label, place.range(e.machine)),
    }
}

/// Two CPUs.
type Pair = Result<[usize; 2], Untestable>;

/// The nearest two on different cores.
fn cores(machine: &Machine) -> Pair {
    let near = machine.cpu_order.nearest();
    let near = near.ok_or_else(|| Untestable("it takes two cores, and there is one".to_owned()))?;
    machine.cpu_order.pair(near)
}

/// Two hyper-threads of one core.
fn hyper_threads(machine: &Machine) -> Pair {
    machine.cpu_order.pair(Nearness::Core)
}

/// The cases of a figure whose threads run on a pair, or of one thread where there is none.
fn figure_cases(machine: &Machine, pair: &Pair, kinds: &[Threads]) -> Vec<Case> {
    let sizes = match machine.full {
        true => working_sets(machine),
        false => a_size_a_level(machine),
    };
    let mut cases = Vec::new();
    for bytes in sizes {
        for what in [READ, WRITE, COPY] {
            let made = kinds
                .iter()
                .map(|&kind| case(machine, pair, what, kind, bytes));
            cases.extend(made.flatten());
        }
    }
    crate::experiment::topics::bandwidth::without_repetition(cases)
}

fn case(
    machine: &Machine,
    pair: &Pair,
    what: &str,
    threads: Threads,
    bytes: usize,
) -> Option<Case> {
    let (_, motion) = BY_VECTORS.into_iter().find(|(name, _)| *name == what)?;
    let granularity = motion.granularity();
    let bytes = bytes / granularity * granularity;
    if bytes == 0 {
        return None;
    }
    let mover = Mover::Vectors(PAPER);
    let label = series(what, threads);
    let owner = match threads {
        One => {
            let setup = BandwidthSetup {
                bytes,
                motion,
                mover,
            };
            return Some(Case::new(label, bytes as f64, setup));
        }
        Same => Owner::All,
        Own => Owner::Each,
    };
    let setup = BandwidthTeamSetup {
        bytes,
        motion,
        mover,
        owner,
        cpus: pair.as_ref().ok()?.to_vec(),
    };
    let room = owner == Owner::All || 2 * bytes <= machine.largest;
    room.then(|| Case::new(label, bytes as f64, setup))
}

macro_rules! reference {
    ($file:literal, $machine:expr) => {
        &[Reference {
            file: $file,
            machine: $machine,
            x: "working_set_bytes_approx",
            columns: &[
                ("Read", "read, same memory"),
                ("Write", "write, same memory"),
                ("Copy", "copy, same memory"),
            ],
        }]
    };
}

/// What a thread of a series gets in a place, as far as it counts.
type Level<'e> = &'e dyn Fn(&str, Threads, Place) -> Result<Interval, Untestable>;

/// Judges what two threads get on a pair of CPUs.
fn of_pair(e: &Evidence<'_>, pair: Pair, judge: &dyn Fn(Level<'_>) -> Judged) -> Judged {
    // Without any point, why there is none is the reason.
    level(e, READ, One, L1)?;
    pair?;
    judge(&|what, threads, place| level(e, what, threads, place))
}

/// The same of two cores.
fn of_cores(e: &Evidence<'_>, judge: &dyn Fn(Level<'_>) -> Judged) -> Judged {
    of_pair(e, cores(e.machine), judge)
}

/// What each of two threads gets, over what one gets alone, in several places.
fn kept(
    level: Level<'_>,
    parts: &[(&str, Threads, Place)],
    judge: impl Fn(&str, Interval) -> Judged,
) -> Judged {
    all_of(parts.iter().map(|&(what, threads, place)| {
        let each = ratio(level(what, threads, place), level(what, One, place))?;
        let what = format!("{what}, {}, {}", threads.name(), place.name());
        judge(&format!("{what}: each of two over one alone"), each)
    }))
}

/// Half, as far as halves come out.
fn half(what: &str, each: Interval) -> Judged {
    between(what, each, 0.4, 0.65)
}

/// As much, as far as that comes out.
fn as_much(what: &str, each: Interval) -> Judged {
    between(what, each, 0.9, 1.1)
}

pub(crate) const FIG_3_25: Experiment = Experiment {
    id: "D37",
    name: "drepper-fig-3.25",
    title: "Bandwidth of two hyper-threads",
    question: "What does each of two threads of one core read, write and copy per cycle?",
    source: "Drepper 3.5.1, Figure 3.25: Pentium 4 with 2 hyper-threads",
    about: "Two threads of one core share its load and store ports, its L1d and the buffers for \
            lines under way, so that what one alone makes full use of is halved. Where one \
            thread does not use all that the core could have under way, the second finds some \
            left.",
    seen: &[],
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.25.csv", PENTIUM_4),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &hyper_threads(machine), &[One, Same]),
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // Hyper-threads share all but the registers: each has half of the cache and of the
        // bandwidth.
        measured(
            "D37.1",
            drepper("3.5.1, Figure 3.25"),
            "in L1d each of two hyper-threads reads, writes and copies half of what one does \
             alone (0.4 to 0.65)",
            |e| {
                let parts = [(READ, Same, L1), (WRITE, Same, L1), (COPY, Same, L1)];
                let judge = |level: Level<'_>| kept(level, &parts, half);
                of_pair(e, hyper_threads(e.machine), &judge)
            },
        )
        .then(0.48, PENTIUM_4),
        // Each thread has half of the bandwidth.
        measured(
            "D37.2",
            drepper("3.5.1, Figure 3.25"),
            "in L2 each of two hyper-threads reads half of what one does alone (0.4 to 0.65)",
            |e| {
                let judge = |level: Level<'_>| kept(level, &[(READ, Same, L2)], half);
                of_pair(e, hyper_threads(e.machine), &judge)
            },
        )
        .then(0.48, PENTIUM_4),
        // While one thread waits for memory, so does the other: half each.
        measured(
            "D37.3",
            drepper("3.5.1, Figure 3.25"),
            "in memory each of two hyper-threads reads and writes half of what one does alone \
             (0.4 to 0.65)",
            |e| {
                let parts = [(READ, Same, Memory), (WRITE, Same, Memory)];
                let judge = |level: Level<'_>| kept(level, &parts, half);
                of_pair(e, hyper_threads(e.machine), &judge)
            },
        )
        .then(0.50, PENTIUM_4),
    ],
};

pub(crate) const FIG_3_27: Experiment = Experiment {
    id: "D39",
    name: "drepper-fig-3.27",
    title: "Bandwidth of two cores, on the same memory and on their own",
    question: "What do two threads on two cores leave of each other's bandwidth, if they work on \
               the same memory or on memory of their own?",
    source: "Drepper 3.5.1, Figure 3.27: Core 2 with 2 threads, on the same memory. How far apart \
             they were the paper does not say; here they are half of the working set apart. Memory \
             of their own is not in the figure",
    about: "A core may write a line only while no other has it, so two that write the same \
            L1d-sized memory pass every line to and fro. A store queue can ask for the lines of \
            all the stores that wait in it at once, some 16 lines by 16-byte stores, and get \
            them one after the other. Memory of their own lies in caches of their own. A guest \
            may be given two hyper-threads of one core as two cores: then each thread gets half \
            of everything, L1d included, as in Figure 3.25. Threads find it out at every round, \
            and such passes are left out.",
    seen: &[seen(
        "Zen 4",
        "A third of the bandwidth is left to two cores that write the same L1d-sized memory.",
    )],
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.27.csv",
            "Core 2, 32 KiB L1d, 4 MiB L2 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &cores(machine), &Threads::ALL),
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // Two threads that read the same memory read as fast as one.
        measured(
            "D39.1",
            drepper("3.5.1, Figure 3.27"),
            "two threads that read the same memory each read as much as one alone, in L1d and \
             L2 (0.9 to 1.1)",
            |e| {
                let parts = [(READ, Same, L1), (READ, Same, L2)];
                of_cores(e, &|level| kept(level, &parts, as_much))
            },
        )
        .then(1.0, "Core 2"),
        // In sizes that would fit L1d both threads compete for the lines, and writes and copies
        // fall to the speed of memory: 0.5 of 15.2 bytes per cycle.
        measured(
            "D39.2",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write, or copy within, the same L1d-sized memory each get less \
             than 0.3 of what one gets alone",
            |e| {
                of_cores(e, &|level| {
                    kept(
                        level,
                        &[(WRITE, Same, L1), (COPY, Same, L1)],
                        |what, each| at_most(what, each, 0.3),
                    )
                })
            },
        )
        .then(0.034, "Core 2")
        .takeaway(
            Takeaway::new(
                Shown::Share,
                Touches::Most,
                "Left to each of two threads that write the same lines",
                "Two threads that write the same lines keep {now} of their speed each",
            )
            .advice(
                "Give each thread its own data to write, and share what is only read.",
                "Sharing written lines costs less than it did for plain streams of stores; \
                 atomic operations still pay for it.",
            ),
        )
        .failing("A store queue that asks for many lines at once hides the exchange of each."),
        // The performance is as if the data had to be read from memory.
        measured(
            "D39.3",
            drepper("3.5.1, Figure 3.27"),
            "two threads write the same L1d-sized memory no faster each than one writes memory \
             (0.5 to 2 times)",
            |e| {
                of_cores(e, &|level| {
                    let same = ratio(level(WRITE, Same, L1), level(WRITE, One, Memory))?;
                    between(
                        "the same memory in L1d over one thread in memory",
                        same,
                        0.5,
                        2.0,
                    )
                })
            },
        )
        .then_between(0.74, 0.89, "Core 2"),
        measured(
            "D39.4",
            ours("the control of the figure, whose threads share all memory"),
            "two threads with memory of their own read, write and copy as much each as one \
             alone, in L1d and L2 (0.9 to 1.1)",
            |e| {
                let places = [L1, L2].into_iter();
                let parts: Vec<_> = places
                    .flat_map(|place| [READ, WRITE, COPY].map(|what| (what, Own, place)))
                    .collect();
                of_cores(e, &|level| kept(level, &parts, as_much))
            },
        ),
        // Both cores share one bus, so that each has half of it for large working sets.
        measured(
            "D39.5",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write memory get less than 0.75 each of what one gets alone",
            |e| {
                of_cores(e, &|level| {
                    kept(level, &[(WRITE, Same, Memory)], |what, each| {
                        at_most(what, each, 0.75)
                    })
                })
            },
        )
        .then_between(0.58, 0.61, "Core 2")
        .takeaway(
            Takeaway::new(
                Shown::Share,
                Touches::Some,
                "Left to each of two threads that write memory",
                "Two threads that write memory keep {now} of their speed each",
            )
            .advice(
                "Do not expect a second thread to double what is written: memory is the limit.",
                "A second thread adds bandwidth for writes: use it.",
            ),
        ),
        // Once L1d is not sufficient, lines are flushed to the shared L2 and the speed is reduced by
        // half: 3.96 of 6.58 bytes per cycle.
        measured(
            "D39.6",
            drepper("3.5.1, Figure 3.27"),
            "two threads that write the same L2-sized memory each get half of one alone (0.4 to \
             0.65)",
            |e| of_cores(e, &|level| kept(level, &[(WRITE, Same, L2)], half)),
        )
        .then(0.60, "Core 2"),
    ],
};

pub(crate) const FIG_3_29: Experiment = Experiment {
    id: "D41",
    name: "drepper-fig-3.29",
    title: "Bandwidth of two cores with a last level between them",
    question: "Where do two cores that write the same memory meet, and what of reading it?",
    source: "Drepper 3.5.1, Figure 3.29: AMD Opteron, family 10h, with 2 threads on the same memory",
    about: "Where two cores write the same lines, each line is fetched out of the other core's \
            caches while that one wants it back. Once the working set has outgrown those, the \
            lines wait in the level that both share. Reading leaves a copy with each core. How \
            much of a last level in a guest is the guest's is not known.",
    seen: &[],
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.29.csv",
            "Opteron, family 10h, 64 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: |machine| figure_cases(machine, &cores(machine), &[One, Same]),
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // The read performance is largely unaffected by the second thread; by the figure 0.8 is
        // left in L1d and in memory.
        measured(
            "D41.1",
            drepper("3.5.1, Figure 3.29"),
            "two threads that read the same memory are largely unaffected by each other: each \
             gets 0.75 or more of one alone, in L1d and L2",
            |e| {
                let parts = [(READ, Same, L1), (READ, Same, L2)];
                of_cores(e, &|level| {
                    kept(level, &parts, |what, each| at_least(what, each, 0.75))
                })
            },
        )
        .then(0.80, "Opteron, family 10h"),
        // The big problem is writing: all data that the threads share goes through L3; 0.13 to 0.3
        // of 18.7 bytes per cycle.
        measured(
            "D41.2",
            drepper("3.5.1, Figure 3.29"),
            "two threads that write the same L1d-sized memory each get less than 0.05 of one \
             alone",
            |e| {
                of_cores(e, &|level| {
                    kept(level, &[(WRITE, Same, L1)], |what, each| {
                        at_most(what, each, 0.05)
                    })
                })
            },
        )
        .then(0.014, "Opteron, family 10h"),
        // Writes come near the speed of L3 only in a small range of working sets near its size; by
        // the figure they are faster there than in L1d.
        measured(
            "D41.3",
            drepper("3.5.1, Figure 3.29"),
            "two threads write the same memory faster if it fills the last level than if it \
             fits into L1d",
            |e| {
                of_cores(e, &|level| {
                    let faster = ratio(level(WRITE, Same, Llc), level(WRITE, Same, L1))?;
                    let what = "writes of the same memory, last level over L1d";
                    unless_strangers(e, at_least(what, faster, 1.0))
                })
            },
        )
        .then(3.0, "Opteron, family 10h"),
        // The two threads do not stress what lies behind their caches; by the figure 0.8 is left in
        // memory, of reads that are prefetched badly.
        measured(
            "D41.4",
            drepper("3.5.1, Figure 3.29"),
            "two threads that read the same memory are largely unaffected by each other where the \
             caches are too small: each gets 0.75 or more of one alone",
            |e| {
                of_cores(e, &|level| {
                    let parts = [(READ, Same, Memory)];
                    kept(level, &parts, |what, each| at_least(what, each, 0.75))
                })
            },
        )
        .then(0.80, "Opteron, family 10h")
        .failing("One core comes nearer to what memory gives than that of the figure did."),
    ],
};
