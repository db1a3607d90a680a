//! Sestoft's k-means, the arithmetic of the note: what a slowdown costs each access (4.1), and how
//! a cluster lies in memory.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::mem::{LINE, Region};
use crate::model::Spread;
use crate::stats::Interval;
use core::mem::offset_of;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[COST_ANALYSIS, MISC];

/// Points, clusters and iterations of the note's run.
const POINTS: f64 = 200_000.0;
const CLUSTERS: f64 = 81.0;
const ITERATIONS: f64 = 108.0;

/// A machine of the note.
struct Noted {
    name: &'static str,
    /// Seconds by which 2Q is slower than 2P.
    slower: f64,
    /// Threads that ran.
    threads: f64,
    /// Nanoseconds of a read from memory, by the note.
    memory: f64,
}

const NOTED: [Noted; 2] = [
    Noted {
        name: "i7",
        slower: 2.234 - 1.310,
        threads: 8.0,
        memory: 90.0,
    },
    Noted {
        name: "Xeon",
        slower: 6.587 - 0.853,
        threads: 48.0,
        memory: 95.0,
    },
];

/// What the slowdown is divided by.
struct Share {
    name: &'static str,
    operations: f64,
    iterations: f64,
    find: fn(&Spread) -> f64,
}

const AS_NOTED: &str = "ns a read, as the note divides";
const READ: &str = "ns a read, all iterations";
const READ_OF_THREAD: &str = "ns a read of a thread, all iterations";
const UPDATE_OF_THREAD: &str = "ns an update of a thread, all iterations";

const SHARES: [Share; 4] = [
    Share {
        name: AS_NOTED,
        operations: POINTS * CLUSTERS,
        iterations: 1.0,
        find: Spread::wall,
    },
    Share {
        name: READ,
        operations: POINTS * CLUSTERS,
        iterations: ITERATIONS,
        find: Spread::wall,
    },
    Share {
        name: READ_OF_THREAD,
        operations: POINTS * CLUSTERS,
        iterations: ITERATIONS,
        find: Spread::thread,
    },
    Share {
        name: UPDATE_OF_THREAD,
        operations: POINTS,
        iterations: ITERATIONS,
        find: Spread::thread,
    },
];

type Count = fn(Region<'_>, u64) -> Result<f64, Untestable>;

fn counted(name: &'static str, x: usize, argument: usize, count: Count) -> Case {
    let setup = CountSetup {
        name,
        bytes: 0,
        count,
        argument: argument as u64,
    };
    Case::new(name, x as f64, setup)
}

const COST_ANALYSIS: Experiment = Experiment {
    id: "B7",
    name: "sestoft-2q-cost-analysis",
    title: "What the slowdown of KMeans2Q costs each access",
    question: "Is the slowdown, spread over the reads, more than reads from memory can cost?",
    source: "Sestoft 4.1: 0.9 s over 200,000 x 81 reads are 55 ns a read, 220 ns for each of four \
             cores; 350 ns on the Xeon, \"so large that it cannot be ascribed to cache read misses \
             alone\"",
    seen: &[],
    about: "The note divides the run of 108 iterations by the reads of one. With all of them a \
            thread's read is 4 ns slower on the i7 and 157 ns on the Xeon. The conclusion stands \
            on other feet: each update of a cluster, which takes the line from everybody, costs \
            its thread several reads from memory. 0 is the i7 and 1 the Xeon.",
    plot: None,
    cases: |_| {
        let machines = 0..NOTED.len();
        let each =
            machines.flat_map(|machine| (0..SHARES.len()).map(move |share| (machine, share)));
        each.map(|(machine, share)| {
            let argument = machine * SHARES.len() + share;
            counted(SHARES[share].name, machine, argument, |_, argument| {
                let argument = argument as usize;
                let noted = &NOTED[argument / SHARES.len()];
                let share = &SHARES[argument % SHARES.len()];
                Ok((share.find)(&Spread {
                    seconds: noted.slower,
                    operations: share.operations,
                    iterations: share.iterations,
                    threads: noted.threads,
                }))
            })
        })
        .collect()
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        measured(
            "B7.1",
            UNSURE,
            "divided as in the note, the i7 loses 55 ns a read and the Xeon 350 ns (5 % allowed)",
            |e| as_noted(e, AS_NOTED),
        ),
        measured(
            "B7.2",
            UNSURE,
            "over the reads of all iterations, too, it is 55 ns and 350 ns (5 % allowed)",
            |e| as_noted(e, READ),
        ),
        measured(
            "B7.3",
            UNSURE,
            "a read of a thread loses more than a read from memory takes, on both machines",
            |e| more_than_memory(e, READ_OF_THREAD),
        ),
        measured(
            "B7.4",
            UNSURE,
            "an update of a thread costs more than a read from memory, on both machines",
            |e| more_than_memory(e, UPDATE_OF_THREAD),
        ),
    ],
};

/// Judges that a read loses what the note has it lose, on each of its machines.
fn as_noted(e: &Evidence<'_>, series: &str) -> Judged {
    let mut parts = Vec::new();
    for (machine, (noted, nanos)) in NOTED.iter().zip([55.0, 350.0]).enumerate() {
        let lost = e.at(series, machine as f64)?;
        let what = format!("ns a read on the {}", noted.name);
        parts.push(between(&what, lost, nanos * 0.95, nanos * 1.05));
    }
    all_of(parts)
}

/// Judges that what is lost is more than memory takes to answer, on each machine of the note.
fn more_than_memory(e: &Evidence<'_>, series: &str) -> Judged {
    let mut parts = Vec::new();
    for (machine, noted) in NOTED.iter().enumerate() {
        let lost = e.at(series, machine as f64)?;
        let what = format!("reads from memory on the {}", noted.name);
        parts.push(at_least(&what, lost.scaled(1.0 / noted.memory), 1.0));
    }
    all_of(parts)
}

/// A cluster as a 64-bit JVM without compressed pointers lays it out in the order of the note.
#[repr(C)]
struct Cluster {
    header: [u64; 2],
    mean: u64,
    sums: [f64; 2],
    count: i32,
}

/// Objects begin at multiples of this on a Java heap.
const HEAP: usize = 8;

/// Of the places in a line where a cluster can begin, those where `last` shares the mean's line.
fn places_where_joined(last: usize) -> usize {
    let line = |at: usize| at / LINE;
    let places = (0..LINE).step_by(HEAP);
    let mean = offset_of!(Cluster, mean);
    places
        .filter(|place| line(place + mean) == line(place + last))
        .count()
}

const INTS: &str = "4-byte integers in a line";
const ALL_PLACES: &str = "places in a line where a cluster can begin";
const SUMX: &str = "places where the mean shares its line with the first sum";
const COUNT: &str = "places where the mean shares its line with the count";
const SAVED: &str = "MB of references to a cluster for each point";

const MISC: Experiment = Experiment {
    id: "B16",
    name: "sestoft-claims-misc",
    title: "Lines, objects and references",
    question: "Do the note's statements on sizes hold?",
    source: "Sestoft: a line of 64 bytes fetches 15 other integers (A.2); mean, sums and count of a \
             cluster share a line (section 2); without the array myCluster 1.6 MB are saved \
             (section 1)",
    seen: &[],
    about: "Lines are 64 bytes on every x86-64 CPU. A Java heap aligns objects to 8 bytes and not \
            to lines, so that some clusters lie across two; their means are then spared the writes \
            to the count. 1.6 MB are references of 8 bytes: a JVM with less than 32 GiB of heap \
            compresses them to 4.",
    plot: None,
    cases: |_| {
        vec![
            counted(INTS, 0, 0, |_, _| Ok((LINE / size_of::<i32>()) as f64)),
            counted(ALL_PLACES, 0, 0, |_, _| Ok((LINE / HEAP) as f64)),
            counted(SUMX, 0, 0, |_, _| {
                Ok(places_where_joined(offset_of!(Cluster, sums)) as f64)
            }),
            counted(COUNT, 0, 0, |_, _| {
                Ok(places_where_joined(offset_of!(Cluster, count)) as f64)
            }),
            counted(SAVED, 8, 8, |_, bytes| Ok(POINTS * bytes as f64 / 1e6)),
            counted(SAVED, 4, 4, |_, bytes| Ok(POINTS * bytes as f64 / 1e6)),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        measured(
            "B16.1",
            UNSURE,
            "a line that an integer is on brings 15 others with it",
            |e| between("integers in a line", e.at(INTS, 0.0), 16.0, 16.0),
        ),
        measured(
            "B16.2",
            UNSURE,
            "the mean of a cluster is on the line of what is written, wherever it begins",
            |e| {
                all_of([
                    between("places with the first sum", places(e, SUMX), 1.0, 1.0),
                    between("places with the count", places(e, COUNT), 1.0, 1.0),
                ])
            },
        ),
        measured(
            "B16.3",
            UNSURE,
            "at most places, five of eight and more, the mean shares its line with all of it",
            |e| at_least("share of places", places(e, COUNT), 0.625),
        ),
        measured(
            "B16.4",
            UNSURE,
            "a reference to a cluster for each of 200,000 points takes 1.6 MB",
            |e| between("MB", e.at(SAVED, 8.0), 1.6, 1.6),
        ),
    ],
};

/// The share of all places that a series counts.
fn places(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    ratio(e.at(series, 0.0), e.at(ALL_PLACES, 0.0))
}
