//! Drepper 3.5.1, the bandwidth of reads, writes and copies: the program, and its figures.

use crate::cpu::Ports;
use crate::experiment::claim::verdict::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthSetup, Mover};
use crate::kernel::{Motion, Vector};
use Place::{L1, L2, Llc, Memory};

/// The paper's curves of reads, writes and copies: their file and machine, and the end of their names.
macro_rules! reference {
    ($file:literal, $machine:expr $(, $end:literal)?) => {
        &[Reference {
            file: $file,
            machine: $machine,
            x: "working_set_bytes_approx",
            columns: &[
                ("Read", concat!("read" $(, $end)?)),
                ("Write", concat!("write" $(, $end)?)),
                ("Copy", concat!("copy" $(, $end)?)),
            ],
        }]
    };
}

mod bus;
mod figures;
mod mixes;
mod processes;
mod scaling;
mod together;

family![bandwidth];

pub(crate) static ALL: &[Experiment] = &[
    PROGRAM,
    figures::FIG_3_24,
    figures::FIG_3_26,
    figures::FIG_3_28,
    together::FIG_3_25,
    together::FIG_3_27,
    together::FIG_3_29,
    bus::SHARED_BUS,
    processes::FIG_3_31,
    scaling::SCALING,
    mixes::MIXES_OF_ONE_CORE,
];

/// Motions with vector instructions, and the names of their series.
const BY_VECTORS: [(&str, Motion); 7] = [
    (READ, Motion::Read),
    ("read two halves", Motion::ReadHalves),
    (WRITE, Motion::Write),
    ("update", Motion::Update),
    (COPY, Motion::Copy),
    ("non-temporal write", Motion::WriteNonTemporal),
    ("non-temporal copy", Motion::CopyNonTemporal),
];

/// Motions with string instructions, and the names of their series.
const BY_STRINGS: [(&str, Motion); 2] =
    [("rep stosb", Motion::RepStosb), ("rep movsb", Motion::RepMovsb)];

/// The motions of the paper's figures.
const OF_FIGURES: [(&str, Motion); 3] =
    [(READ, Motion::Read), (WRITE, Motion::Write), (COPY, Motion::Copy)];

const READ: &str = "read";
const WRITE: &str = "write";
const COPY: &str = "copy";

/// The width of the paper's accesses, in bytes.
const PAPER: usize = 16;

fn series(what: &str, width: usize) -> String {
    format!("{what}, {width} B")
}

/// Returns the set-up with the paper's accesses.
const fn by_16_bytes(bytes: usize, motion: Motion) -> BandwidthSetup {
    BandwidthSetup::new(bytes, motion, Mover::Vectors(PAPER))
}

/// Returns the case of `bytes` bytes, rounded down to whole blocks; `None` if no block fits.
fn case(label: String, bytes: usize, motion: Motion, mover: Mover) -> Option<Case> {
    let bytes = whole_blocks(bytes, motion)?;
    Some(Case::new(label, bytes as f64, BandwidthSetup::new(bytes, motion, mover)))
}

/// Rounds `bytes` down to whole blocks; `None` if no block fits.
fn whole_blocks(bytes: usize, motion: Motion) -> Option<usize> {
    let granularity = motion.granularity();
    Some(bytes / granularity * granularity).filter(|&bytes| bytes > 0)
}

/// The working sets of the figures: every second power of two in a quick run; in a full run 512
/// bytes, where the paper's program starts, and two sizes per octave from 1 KiB on. Where all of them
/// miss the range of a cache, also its middle.
fn working_sets(machine: &Machine) -> Vec<usize> {
    let mut sizes = machine.few_working_sets(2);
    if machine.full {
        sizes.insert(0, 512);
    }
    for range in caches(machine) {
        let holds = |size: &usize| range.holds(*size as f64);
        if !sizes.iter().any(holds) {
            sizes.extend(Some(machine.middle_of(range)).filter(holds));
        }
    }
    sizes.sort_unstable();
    sizes
}

/// One working set per level: the smallest size in each cache, and the memory size. These sizes do
/// not depend on the part of a shared cache that a run gets; sizes in between might.
fn a_size_a_level(machine: &Machine) -> Vec<usize> {
    let sizes = working_sets(machine);
    let first = |range: Range| sizes.iter().copied().find(|size| range.holds(*size as f64));
    let chosen = caches(machine).into_iter().filter_map(first);
    let mut chosen: Vec<usize> = chosen.chain([machine.in_memory()]).collect();
    chosen.dedup();
    chosen
}

fn caches(machine: &Machine) -> [Range; 3] {
    [L1, L2, Llc].map(|place| place.range(machine))
}

/// The working sets: one per level in a quick run, all in a full run.
fn sizes(machine: &Machine) -> Vec<usize> {
    if machine.full { working_sets(machine) } else { a_size_a_level(machine) }
}

/// The level of the hierarchy where a working set lies.
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

/// Returns the bandwidth of a series in a place: its level over a cache's range, but its point at
/// the memory size for memory, because the distance of other sizes from the caches differs from run
/// to run.
fn level(e: &Evidence<'_>, label: &str, place: Place) -> Testable<Reading> {
    match place {
        Memory => e.in_memory(label),
        _ => e.level(label, place.range(e.machine)),
    }
}

/// Returns the bandwidth of `what` by accesses of `width` bytes in a place.
fn by_width(e: &Evidence<'_>, what: &str, width: usize, place: Place) -> Testable<Reading> {
    level(e, &series(what, width), place)
}

/// Returns the load and store ports of this CPU.
fn ports(machine: &Machine) -> Testable<Ports> {
    machine.ports.ok_or_else(unknown_ports)
}

fn unknown_ports() -> Untestable {
    Untestable("the load and store ports of this CPU are not in the table of cores".to_owned())
}

const BYTES_A_CYCLE: Plot =
    Plot::lines(Axis::WORKING_SET, Axis::log("bandwidth"), Unit::BytesPerCycle);

const PROGRAM: Experiment = Experiment {
    id: "D35",
    name: "drepper-bandwidth",
    title: "Reading, writing and copying by every kind of instruction",
    question: "How close does one core come to the limit of its load and store ports, and how \
               much bandwidth is left at each level of the hierarchy?",
    source: "Drepper 3.5.1: a program that reads, writes or copies by 16-byte SSE accesses",
    about: "One thread reads, writes and copies buffers by accesses of different widths and by \
            string instructions. The chart shows bytes per cycle by working set. In L1d, the ports \
            limit the bandwidth: two or three load ports and one or two store ports, each 16 to 64 \
            bytes wide, which only vectors of the full width use fully. From L2 on, the width \
            matters less: the number of outstanding lines decides how fast lines arrive. \
            Non-temporal stores go to memory wherever the data lie. (A copied byte counts once, as \
            in the paper; the working set of a copy is both halves.)",
    seen: &[seen(
        "Zen 4",
        "16-byte loads read memory faster than 64-byte loads, and two alternating streams are \
         faster than one, because each stream has its own prefetches.",
    )],
    plot: Some(BYTES_A_CYCLE),
    cases: |machine| {
        let mut cases = Vec::new();
        for bytes in sizes(machine) {
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
    events: events::BANDWIDTH,
    claims: &[
        // The paper reads L1d at the full 16 bytes per cycle of the load port, and at more than
        // 32 with the two ports of the Opteron.
        measured(
            "D35.1",
            drepper("3.5.1, Figures 3.24, 3.26 and 3.28"),
            "in L1d, loads of every width reach at least 0.8 of the limit of the load ports",
            |e| of_ports(e, READ, Ports::read),
        )
        .then(0.98, PENTIUM_4),
        // Where L1d does not write through, writes come close to the optimal 16 bytes per cycle.
        measured(
            "D35.2",
            drepper("3.5.1, Figure 3.26"),
            "in L1d, stores of every width reach at least 0.8 of the limit of the store ports",
            |e| of_ports(e, WRITE, Ports::write),
        )
        .then(0.96, "Core 2"),
        // Written data is stored in L1d and only evicted when necessary: nearly 16 bytes per
        // cycle, 0.5 to 0.7 in memory.
        measured(
            "D35.3",
            drepper("3.5.1, Figure 3.26"),
            "writing L1d by the widest stores is more than 4 times as fast as writing memory",
            |e| {
                let (width, near) = widest(e, WRITE, L1)?;
                let far = by_width(e, WRITE, width, Memory)?;
                at_least(&format!("{width}-byte writes, L1d over memory"), ratio(near, far), 4.0)
            },
        )
        .then_between(22.0, 27.0, "Core 2"),
        // Copies cannot be faster than either reads or writes.
        measured(
            "D35.4",
            drepper("3.5.1, Figure 3.28"),
            "at no level of the hierarchy is copying faster than the slower of reading and writing \
             (10 % allowed): in L1d, in L2, in the last level if a measured working set is sure to \
             lie there, and in memory",
            |e| {
                let is_sure = e.points.iter().any(|point| e.is_sure(Llc.range(e.machine), point.x));
                let places = [L1, L2, Llc, Memory].into_iter();
                all_of(places.filter(|place| is_sure || *place != Llc).map(|place| {
                    let (width, copy) = widest(e, COPY, place)?;
                    let of = |what| by_width(e, what, width, place);
                    let slower = of(READ)?.least(*of(WRITE)?);
                    let what = format!("{width}-byte copies in {}", place.name());
                    let judged = at_most(&what, ratio(copy, slower), 1.1);
                    match place {
                        Llc => unless_strangers(e, judged),
                        _ => judged,
                    }
                }))
            },
        )
        .then(0.48, "Opteron, family 10h"),
    ],
    ..Experiment::PLAIN
};

/// Returns the widest vectors that `what` was measured with in a place, in bytes, and their
/// bandwidth there.
fn widest(e: &Evidence<'_>, what: &str, place: Place) -> Testable<(usize, Reading)> {
    let width = widths(e, what).last().unwrap_or(PAPER);
    by_width(e, what, width, place).map(|level| (width, level))
}

/// Returns the widths of the vectors that the CPU has, in bytes. With vectors that it lacks, every point of
/// `what` is untestable.
fn widths(e: &Evidence<'_>, what: &str) -> impl Iterator<Item = usize> {
    Vector::BYTES.into_iter().filter(move |&width| {
        let label = series(what, width);
        let mut points = e.points.iter().filter(|point| point.series == label);
        width == PAPER || points.any(|point| !matches!(point.state, State::Untestable(_)))
    })
}

/// Removes cases of the same series and size: rounding to whole blocks can make sizes equal.
fn without_repetition(cases: Vec<Case>) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(cases.len());
    for case in cases {
        if !kept.iter().any(|other| other.x == case.x && other.series == case.series) {
            kept.push(case);
        }
    }
    kept
}

/// Judges the bandwidth in L1d of each width as a share of `limit`. Skips widths that the CPU lacks.
fn of_ports(e: &Evidence<'_>, what: &str, limit: fn(&Ports, usize) -> Option<u32>) -> Judged {
    let ports = ports(e.machine)?;
    let mut parts = Vec::new();
    for width in widths(e, what) {
        let level = by_width(e, what, width, L1)?;
        if let Some(most) = limit(&ports, width) {
            let share = level.scaled(1.0 / f64::from(most));
            let what = format!("{width}-byte {what}s over {most} B per cycle");
            parts.push(at_least(&what, share, 0.8));
        }
    }
    all_of(parts)
}
