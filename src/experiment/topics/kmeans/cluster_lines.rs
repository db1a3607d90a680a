//! The arithmetic of Sestoft's note on k-means: the cost of a slowdown per access (4.1), and the
//! layout of a cluster in memory.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::model::Spread;
use core::mem::offset_of;

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
    /// Nanoseconds per read from memory, according to the note.
    memory: f64,
}

const NOTED: [Noted; 2] = [
    Noted { name: "i7", slower: 2.234 - 1.310, threads: 8.0, memory: 90.0 },
    Noted { name: "Xeon", slower: 6.587 - 0.853, threads: 48.0, memory: 95.0 },
];

/// What the slowdown is divided by: the name of the quotient, accesses per iteration, iterations, and whether all
/// threads together make the accesses or each makes its share.
type Share = (&'static str, f64, f64, fn(&Spread) -> f64);

const AS_NOTED: &str = "ns per read, as the note divides";
const READ: &str = "ns per read, all iterations";
const READ_OF_THREAD: &str = "ns per read of a thread, all iterations";
const UPDATE_OF_THREAD: &str = "ns per update of a thread, all iterations";

const SHARES: [Share; 4] = [
    (AS_NOTED, POINTS * CLUSTERS, 1.0, Spread::wall),
    (READ, POINTS * CLUSTERS, ITERATIONS, Spread::wall),
    (READ_OF_THREAD, POINTS * CLUSTERS, ITERATIONS, Spread::thread),
    (UPDATE_OF_THREAD, POINTS, ITERATIONS, Spread::thread),
];

fn number(name: &'static str, x: usize, argument: usize, count: fn(u64) -> Testable<f64>) -> Case {
    CountSetup::computed(name, argument as u64, count).at(x as f64)
}

const COST_ANALYSIS: Experiment = Experiment {
    id: "B7",
    name: "sestoft-2q-cost-analysis",
    title: "The slowdown of KMeans2Q per access",
    question: "Does the slowdown cost more per read than a read from memory can?",
    source: "Sestoft 4.1: 0.9 s over 200,000 x 81 reads are 55 ns per read, 220 ns on each of \
             four cores; 350 ns on the Xeon, \"so large that it cannot be ascribed to cache read \
             misses alone\"",
    about: "The note's slowdown is that of a whole run of 108 iterations, but the note divides it \
            by the reads of one iteration. Here arithmetic divides the note's seconds by the \
            reads and by the updates of all iterations, once for all threads and once per thread. \
            A column of 0 is the i7, of 1 the Xeon.",
    cases: |_| {
        let machines = 0..NOTED.len();
        let each =
            machines.flat_map(|machine| (0..SHARES.len()).map(move |share| (machine, share)));
        each.map(|(machine, share)| {
            let argument = machine * SHARES.len() + share;
            number(SHARES[share].0, machine, argument, |argument| {
                let argument = argument as usize;
                let noted = &NOTED[argument / SHARES.len()];
                let (_, operations, iterations, find) = SHARES[argument % SHARES.len()];
                let (seconds, threads) = (noted.slower, noted.threads);
                Ok(find(&Spread { seconds, operations, iterations, threads }))
            })
        })
        .collect()
    },
    claims: &[
        // A slowdown of 0.9 s over 16.2 million reads of means is 55 ns per read on the i7, and at
        // least 350 ns on the Xeon.
        computed(
            "B7.1",
            sestoft("4.1"),
            "the slowdown of KMeans2Q, divided by the reads of one iteration as in the note, is \
             55 ns per read on the i7 and 350 ns on the Xeon, within 5 %",
            |e| as_noted(e, AS_NOTED),
        )
        .then(55.0, "i7-4870HQ, 4 cores"),
        computed(
            "B7.2",
            ours(
                "the note divides the time of 108 iterations by the reads of one: does its result \
                 hold for the reads of all?",
            ),
            "the slowdown of KMeans2Q, divided by the reads of all 108 iterations, is 55 ns per \
             read on the i7 and 350 ns on the Xeon, within 5 %",
            |e| as_noted(e, READ),
        ),
        computed(
            "B7.3",
            ours(
                "the note concludes from 220 and 350 ns that read misses are not the only cost: \
                 does this follow from the reads of all iterations?",
            ),
            "in KMeans2Q, a read of a mean by one thread loses more time than a read from memory \
             takes, on both machines of the note",
            |e| more_than_memory(e, READ_OF_THREAD),
        ),
        computed(
            "B7.4",
            ours("the slowdown can also be divided by the updates, which take a line away"),
            "in KMeans2Q, an update of a cluster by one thread loses more time than a read from \
             memory takes, on both machines of the note",
            |e| more_than_memory(e, UPDATE_OF_THREAD),
        )
        .holding(
            "The updates support the note's conclusion that read misses are not the only cost.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Judges that a read loses as much time as the note says, on each of the note's machines.
fn as_noted(e: &Evidence<'_>, series: &str) -> Judged {
    all_of(NOTED.iter().zip([55.0, 350.0]).enumerate().map(|(machine, (noted, nanos))| {
        let lost = e.at(series, machine as f64)?;
        between(&format!("ns per read on the {}", noted.name), lost, nanos * 0.95, nanos * 1.05)
    }))
}

/// Judges that the loss exceeds the latency of memory, on each of the note's machines.
fn more_than_memory(e: &Evidence<'_>, series: &str) -> Judged {
    all_of(NOTED.iter().enumerate().map(|(machine, noted)| {
        let lost = e.at(series, machine as f64)?;
        let what = format!("reads from memory on the {}", noted.name);
        at_least(&what, lost.scaled(1.0 / noted.memory), 1.0)
    }))
}

/// A cluster as a 64-bit JVM without compressed pointers lays it out, in the note's order.
#[repr(C)]
struct Cluster {
    header: [u64; 2],
    mean: u64,
    sums: [f64; 2],
    count: i32,
}

/// Alignment of objects on a Java heap, in bytes.
const HEAP: usize = 8;

/// Counts the starts of a cluster within a line for which `last` lies on the mean's line.
fn places_where_joined(last: usize) -> usize {
    let line = |at: usize| at / LINE;
    let places = (0..LINE).step_by(HEAP);
    let mean = offset_of!(Cluster, mean);
    places.filter(|place| line(place + mean) == line(place + last)).count()
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
    question: "Are the note's statements about sizes true?",
    source: "Sestoft: a line of 64 bytes fetches 15 other integers (A.2); mean, sums and count of \
             a cluster share a line (section 2); dropping the array myCluster saves 1.6 MB \
             (section 2)",
    about: "Nothing is timed. A Java heap aligns objects to 8 bytes, not to lines, so some \
            clusters cross a line boundary; writes to their count then do not disturb reads of \
            their mean. 1.6 MB are 200,000 references of 8 bytes; a JVM with less than 32 GiB of \
            heap compresses references to 4 bytes.",
    cases: |machine| {
        let line = machine.data_cache(1).map_or(0, |cache| cache.line as usize);
        vec![
            number(INTS, 0, line, |line| match line {
                0 => Err(Untestable("CPUID reports no data cache".to_owned())),
                bytes => Ok(bytes as f64 / size_of::<i32>() as f64),
            }),
            number(ALL_PLACES, 0, 0, |_| Ok((LINE / HEAP) as f64)),
            number(SUMX, 0, 0, |_| Ok(places_where_joined(offset_of!(Cluster, sums)) as f64)),
            number(COUNT, 0, 0, |_| Ok(places_where_joined(offset_of!(Cluster, count)) as f64)),
            number(SAVED, 8, 8, |bytes| Ok(POINTS * bytes as f64 / 1e6)),
            number(SAVED, 4, 4, |bytes| Ok(POINTS * bytes as f64 / 1e6)),
        ]
    },
    claims: &[
        // Reading an element also fetches the other integers of its line, typically 15 in a line of
        // 64 bytes.
        reported(
            "B16.1",
            sestoft("A.2, approach 1"),
            "a line, as CPUID reports its size, holds 16 integers of 4 bytes",
            |e| between("integers in a line", e.at(INTS, 0.0), 16.0, 16.0),
        )
        .then(16.0, ""),
        computed(
            "B16.2",
            ours(
                "the note says that mean and sums of a cluster share a line; on a Java heap, \
                 which aligns objects to 8 bytes, this depends on the start of the object",
            ),
            "the mean of a cluster shares its line with the first sum and with the count, \
             wherever in a line the cluster starts",
            |e| {
                all_of([
                    between("places with the first sum", places(e, SUMX), 1.0, 1.0),
                    between("places with the count", places(e, COUNT), 1.0, 1.0),
                ])
            },
        ),
        // Memory use decreases by 1.6 MB, the size of the array myCluster.
        computed(
            "B16.4",
            sestoft("2"),
            "references of 8 bytes to a cluster for 200,000 points take 1.6 MB",
            |e| between("MB", e.at(SAVED, 8.0), 1.6, 1.6),
        )
        .then(1.6, ""),
    ],
    ..Experiment::PLAIN
};

/// Returns the share of all places that `series` counts.
fn places(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    ratio(e.at(series, 0.0), e.at(ALL_PLACES, 0.0))
}
