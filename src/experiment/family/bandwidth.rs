//! Drepper 3.5.1, what one core can read, write and copy: Figures 3.24, 3.26 and 3.28.

use super::PENTIUM_4;
use crate::cpu::Ports;
use crate::experiment::evidence::ratio;
use crate::experiment::setup::{BandwidthSetup, Mover};
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Judged, Judgement, Machine, Plot, Range, Reference,
    Shape, Unit, Untestable, all_of, at_least, at_most, between, plain_curves,
};
use crate::kernel::{Motion, Vector};
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[PROGRAM, FIG_3_24, FIG_3_26, FIG_3_28];

/// What vectors do, and what the series are called.
const BY_VECTORS: [(&str, Motion); 7] = [
    (READ, Motion::Read),
    ("read two halves", Motion::ReadHalves),
    (WRITE, Motion::Write),
    ("update", Motion::Update),
    (COPY, Motion::Copy),
    ("non-temporal write", Motion::WriteNonTemporal),
    ("non-temporal copy", Motion::CopyNonTemporal),
];

/// What string instructions do.
const BY_STRINGS: [(&str, Motion); 2] = [
    ("rep stosb", Motion::RepStosb),
    ("rep movsb", Motion::RepMovsb),
];

const READ: &str = "read";
const WRITE: &str = "write";
const COPY: &str = "copy";

/// The width of the paper's accesses, in bytes.
const PAPER: usize = 16;

fn series(what: &str, width: usize) -> String {
    format!("{what}, {width} B")
}

/// The case of `bytes` bytes, or of the largest size below that is whole blocks; `None` if there
/// is no block.
fn case(label: String, bytes: usize, motion: Motion, mover: Mover) -> Option<Case> {
    let granularity = motion.granularity();
    let bytes = bytes / granularity * granularity;
    let setup = BandwidthSetup {
        bytes,
        motion,
        mover,
    };
    (bytes > 0).then(|| Case::new(label, bytes as f64, setup))
}

/// The working sets of the figures: in a quick run every fourth power of two, in a full run two an
/// octave from 512 bytes on, as the paper's program had it.
fn working_sets(machine: &Machine) -> Vec<usize> {
    let mut sizes = machine.few_working_sets(2);
    if machine.full {
        sizes.insert(0, 512);
    }
    sizes
}

/// The smallest of them in each level. They do not depend on how much of a shared cache a run
/// finds, where the next size up might.
fn a_size_a_level(machine: &Machine) -> Vec<usize> {
    let sizes = working_sets(machine);
    let ranges = &machine.ranges;
    let mut chosen: Vec<usize> = [ranges.l1, ranges.l2, ranges.llc, ranges.memory]
        .into_iter()
        .filter_map(|range| sizes.iter().copied().find(|size| range.holds(*size as f64)))
        .collect();
    chosen.dedup();
    chosen
}

const BYTES_A_CYCLE: Plot = Plot {
    shape: Shape::Lines,
    x: Axis::WORKING_SET,
    y: Axis::log("bandwidth"),
    unit: Unit::BytesACoreCycle,
    reference: &[],
};

const PROGRAM: Experiment = Experiment {
    id: "D35",
    name: "drepper-bandwidth",
    title: "Reading, writing and copying by every kind of instruction",
    question: "How close does one core come to what its load and store ports can move, and how \
               much of that is left at each level of the hierarchy?",
    source: "Drepper 3.5.1: a program that reads, writes or copies by 16-byte SSE accesses",
    today: "Ports have grown to 32 and 64 bytes, two or three for loads and one or two for stores, \
            and only a vector of that width fills them. From L2 on, the width hardly matters: lines \
            arrive as they arrive, and the number of them under way decides. Two streams in turn \
            therefore read memory faster than one, whose prefetcher stops at each page. \
            Non-temporal stores run at the speed of memory wherever the data lies. \
            (A copied byte counts once, as in the paper; working sets of copies are both halves.)",
    plot: Some(BYTES_A_CYCLE),
    cases: |machine| {
        let sizes = match machine.full {
            true => working_sets(machine),
            false => a_size_a_level(machine),
        };
        let mut cases = Vec::new();
        for bytes in sizes {
            for width in Vector::BYTES {
                cases.extend(BY_VECTORS.into_iter().filter_map(|(what, motion)| {
                    case(series(what, width), bytes, motion, Mover::Vectors(width))
                }));
            }
            cases.extend(
                BY_STRINGS.into_iter().filter_map(|(what, motion)| {
                    case(what.to_owned(), bytes, motion, Mover::String)
                }),
            );
        }
        without_repetition(cases)
    },
    curves: plain_curves,
    claims: &[
        Claim {
            text: "in L1d, loads of every width reach 0.8 of what the load ports can move",
            judge: |e| of_ports(e, READ, Ports::read),
        },
        Claim {
            text: "in L1d, stores of every width reach 0.8 of what the store ports can move",
            judge: |e| of_ports(e, WRITE, Ports::write),
        },
        Claim {
            text: "writes to L1d by the widest stores are more than 4 times as fast as to memory",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (width, near) = widest(e, WRITE, ranges.l1)?;
                let far = e.level(&series(WRITE, width), ranges.memory)?;
                let what = format!("{width}-byte writes, L1d over memory");
                Ok(at_least(&what, ratio(near, far)?, 4.0))
            },
        },
        Claim {
            text: "at no level is copying faster than the slower of reading and writing (10 % \
                   allowed)",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let mut parts = Vec::new();
                for (name, range) in [
                    ("L1d", ranges.l1),
                    ("L2", ranges.l2),
                    ("memory", ranges.memory),
                ] {
                    let (width, copy) = widest(e, COPY, range)?;
                    let level = |what| e.level(&series(what, width), range);
                    let slower = level(READ)?.least(level(WRITE)?);
                    let what = format!("{width}-byte copies in {name}");
                    parts.push(at_most(&what, ratio(copy, slower)?, 1.1));
                }
                Ok(all_of(parts))
            },
        },
    ],
};

/// The widest vectors that this CPU has, and what `what` reaches in `range` by them.
fn widest(e: &Evidence<'_>, what: &str, range: Range) -> Result<(usize, Interval), Untestable> {
    let mut widths = Vector::BYTES.into_iter().rev();
    let found = widths.find_map(|width| Some((width, e.level(&series(what, width), range).ok()?)));
    match found {
        Some(found) => Ok(found),
        None => e
            .level(&series(what, PAPER), range)
            .map(|level| (PAPER, level)),
    }
}

/// Cases of one series and size once: sizes that are no whole number of blocks fall on others.
fn without_repetition(cases: Vec<Case>) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(cases.len());
    for case in cases {
        if !kept
            .iter()
            .any(|other| other.x == case.x && other.series == case.series)
        {
            kept.push(case);
        }
    }
    kept
}

/// Judges what each width reaches in L1d of what `limit` says of it. Widths that the CPU lacks are
/// left out.
fn of_ports(e: &Evidence<'_>, what: &str, limit: fn(&Ports, usize) -> Option<u32>) -> Judged {
    let l1 = e.machine.ranges.l1;
    let ports = e.machine.ports.ok_or_else(|| {
        Untestable("the load and store ports of this CPU are not known here".to_owned())
    })?;
    let mut parts = Vec::new();
    for width in Vector::BYTES {
        let level = match e.level(&series(what, width), l1) {
            Err(_) if width > PAPER => continue,
            level => level?,
        };
        if let Some(most) = limit(&ports, width) {
            let share = level.scaled(1.0 / f64::from(most));
            let what = format!("{width}-byte {what}s over {most} B a cycle");
            parts.push(at_least(&what, share, 0.8));
        }
    }
    Ok(all_of(parts))
}

/// The ratio of two levels of 16-byte series.
fn over(
    e: &Evidence<'_>,
    (of, of_range): (&str, Range),
    (to, to_range): (&str, Range),
) -> Result<Interval, Untestable> {
    let level = |what, range| e.level(&series(what, PAPER), range);
    ratio(level(of, of_range)?, level(to, to_range)?)
}

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

/// A claim about the ratio of two of the figure's levels.
fn compare(
    e: &Evidence<'_>,
    of: (&str, Range),
    to: (&str, Range),
    what: &str,
    judge: impl Fn(&str, Interval) -> Judgement,
) -> Judged {
    Ok(judge(what, over(e, of, to)?))
}

const FIG_3_24: Experiment = Experiment {
    id: "D36",
    name: "drepper-fig-3.24",
    title: "Bandwidth of a CPU whose L1d writes through",
    question: "What can one thread read, write and copy a cycle, as the working set grows?",
    source: "Drepper 3.5.1, Figure 3.24: Pentium 4, 64-bit mode",
    today: "The first level writes back everywhere, so a store to L1d is as cheap as one port lets \
            it be, and no longer waits for L2. Writing to memory still reads each line before it \
            and writes it back behind, but both overlap: the factor of ten to reading is gone.",
    plot: Some(Plot {
        reference: reference!("drepper-fig-3.24.csv", PENTIUM_4),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    curves: plain_curves,
    claims: &[
        Claim {
            text: "reading L1d is more than twice as fast as reading L2",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (near, far) = ((READ, ranges.l1), (READ, ranges.l2));
                compare(e, near, far, "reads, L1d over L2", |what, faster| {
                    at_least(what, faster, 2.0)
                })
            },
        },
        Claim {
            text: "reading L1d is more than 3 times as fast as writing it, for writes go through",
            judge: |e| {
                let l1 = e.machine.ranges.l1;
                compare(
                    e,
                    (READ, l1),
                    (WRITE, l1),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 3.0),
                )
            },
        },
        Claim {
            text: "reading memory is more than 5 times as fast as writing it",
            judge: |e| {
                let memory = e.machine.ranges.memory;
                let (read, write) = ((READ, memory), (WRITE, memory));
                compare(e, read, write, "reads over writes", |what, faster| {
                    at_least(what, faster, 5.0)
                })
            },
        },
        Claim {
            text: "in memory a copy is as fast as a write alone, within 20 %",
            judge: |e| {
                let memory = e.machine.ranges.memory;
                let (copy, write) = ((COPY, memory), (WRITE, memory));
                compare(e, copy, write, "copies over writes", |what, faster| {
                    between(what, faster, 0.8, 1.2)
                })
            },
        },
    ],
};

const FIG_3_26: Experiment = Experiment {
    id: "D38",
    name: "drepper-fig-3.26",
    title: "Bandwidth of a CPU whose prefetcher keeps up",
    question: "Can prefetching make reading memory as fast as reading L1d, and what of writing?",
    source: "Drepper 3.5.1, Figure 3.26: Core 2",
    today: "The Core 2's loads moved 16 bytes a cycle at the clock of its front-side bus' days; ports \
            have grown fourfold and more since, memory's share a core has not. Prefetchers hide \
            the latency of L2 from 16-byte loads; the bandwidth of memory they cannot raise.",
    plot: Some(Plot {
        reference: reference!(
            "drepper-fig-3.26.csv",
            "Core 2, 32 KiB L1d, 4 MiB L2 (2007)"
        ),
        ..BYTES_A_CYCLE
    }),
    cases: figure_cases,
    curves: plain_curves,
    claims: &[
        Claim {
            text: "reading memory keeps 0.9 of the bandwidth of L1d",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (far, near) = ((READ, ranges.memory), (READ, ranges.l1));
                compare(e, far, near, "reads, memory over L1d", |what, kept| {
                    at_least(what, kept, 0.9)
                })
            },
        },
        Claim {
            text: "writing L1d is more than 10 times as fast as writing memory",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (near, far) = ((WRITE, ranges.l1), (WRITE, ranges.memory));
                compare(e, near, far, "writes, L1d over memory", |what, faster| {
                    at_least(what, faster, 10.0)
                })
            },
        },
        Claim {
            text: "writing L1d is more than twice as fast as writing L2",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (near, far) = ((WRITE, ranges.l1), (WRITE, ranges.l2));
                compare(e, near, far, "writes, L1d over L2", |what, faster| {
                    at_least(what, faster, 2.0)
                })
            },
        },
        Claim {
            text: "in L1d writing is as fast as reading, within 20 %",
            judge: |e| {
                let l1 = e.machine.ranges.l1;
                compare(
                    e,
                    (WRITE, l1),
                    (READ, l1),
                    "writes over reads",
                    |what, kept| between(what, kept, 0.8, 1.2),
                )
            },
        },
    ],
};

const FIG_3_28: Experiment = Experiment {
    id: "D40",
    name: "drepper-fig-3.28",
    title: "Bandwidth of a CPU with three levels of cache",
    question: "What does each of three levels leave of the bandwidth of the one before?",
    source: "Drepper 3.5.1, Figure 3.28: AMD Opteron, family 10h",
    today: "Two loads a cycle against one store has stayed the balance of most cores. The path \
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
    claims: &[
        Claim {
            text: "reading L1d is more than 1.5 times as fast as writing it",
            judge: |e| {
                let l1 = e.machine.ranges.l1;
                compare(
                    e,
                    (READ, l1),
                    (WRITE, l1),
                    "reads over writes",
                    |what, faster| at_least(what, faster, 1.5),
                )
            },
        },
        Claim {
            text: "reading falls to a tenth from L1d to L2",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (near, far) = ((READ, ranges.l1), (READ, ranges.l2));
                compare(e, near, far, "reads, L1d over L2", |what, faster| {
                    at_least(what, faster, 10.0)
                })
            },
        },
        Claim {
            text: "in L1d a copy is less than 0.6 times as fast as a write",
            judge: |e| {
                let l1 = e.machine.ranges.l1;
                compare(
                    e,
                    (COPY, l1),
                    (WRITE, l1),
                    "copies over writes",
                    |what, kept| at_most(what, kept, 0.6),
                )
            },
        },
        Claim {
            text: "writing L2 is more than 5 times as fast as writing memory",
            judge: |e| {
                let ranges = &e.machine.ranges;
                let (near, far) = ((WRITE, ranges.l2), (WRITE, ranges.memory));
                compare(e, near, far, "writes, L2 over memory", |what, faster| {
                    at_least(what, faster, 5.0)
                })
            },
        },
    ],
};
