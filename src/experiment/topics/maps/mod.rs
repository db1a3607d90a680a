//! Shared maps with several locks: Sestoft, section 5.

pub mod map;
pub mod operations;

use crate::experiment::prelude::*;
use crate::experiment::topics::maps::map::MapKind;
use crate::experiment::topics::maps::operations::{MapPairSetup, MapSetup, MapSize, MapSizeSetup};
use crate::order;

family![maps];

pub(crate) static ALL: &[Experiment] = &[STRIPED];

/// Operations of the note's run, by all threads together.
const OPERATIONS: u64 = 1_600_000;

/// Number of keys of the note's run: 16 operations per key.
const RANGE: u32 = 100_000;

/// A quick run divides operations and keys by this number, so that it uses each key as often.
const QUICK: u64 = 32;

/// The least number of operations per thread. Fewer would not be long beside the start of a run.
const LEAST: u64 = 4_000;

/// The largest number of threads in the note's figures.
const NOTE: usize = 32;

/// The maps of the note.
const OWN: [MapKind; 3] = [MapKind::Striped, MapKind::StripedWrite, MapKind::StripedWritePadded];

/// The maps in place of Java's `ConcurrentHashMap`.
const PEERS: [MapKind; 2] = [MapKind::Dash, MapKind::Papaya];

/// Returns the numbers of threads: one, one per core, and twice the number of CPUs. A full run adds
/// the powers of two up to the note's largest number.
fn threads(machine: &Machine) -> Vec<usize> {
    let (cores, cpus) = (machine.cpu_order.cores().max(1), machine.cpu_order.cpus());
    let mut all = vec![1, cores];
    if machine.full {
        all.extend((0..).map(|k| 1 << k).take_while(|&n| n <= NOTE));
    }
    all.extend(Some(2 * cpus).filter(|twice| (2..=2 * NOTE).contains(twice)));
    order::distinct(all)
}

/// Returns the number of threads with one on each core. Fails with a single core.
fn on_cores(e: &Evidence<'_>) -> Testable<f64> {
    let order = &e.machine.cpu_order;
    order.at_least(2).map(|()| order.cores() as f64)
}

/// Returns the operations of a run of `threads` threads, and its number of keys.
fn run_of(machine: &Machine, threads: usize) -> (u64, u32) {
    let fewer = if machine.full { 1 } else { QUICK };
    let operations = (OPERATIONS / fewer).max(LEAST * threads as u64);
    let range = operations * u64::from(RANGE) / OPERATIONS;
    (operations, range as u32)
}

fn cases(machine: &Machine) -> Vec<Case> {
    let run = |map, threads| {
        let cpus = machine.cpu_order.of(threads).ok()?;
        let (operations, range) = run_of(machine, threads);
        Some(MapSetup { map, operations, range, cpus })
    };
    let mut cases = Vec::new();
    for threads in threads(machine) {
        let x = threads as f64;
        for run in MapKind::ALL.into_iter().filter_map(|map| run(map, threads)) {
            let map = run.map;
            cases.push(Case::new(map.name(), x, run.clone()).in_turn());
            let sizes = [(off(map), MapSize::Off), (said(map), MapSize::Said)];
            for (series, size) in sizes {
                // After a run of several threads, the size depends on their timing.
                if size == MapSize::Off || threads == 1 {
                    let run = run.clone();
                    cases.push(Case::new(series, x, MapSizeSetup { run, size }));
                }
            }
        }
    }
    let cores = machine.cpu_order.cores();
    for pair in PAIRS {
        if let (2.., Some(run)) = (cores, run(pair.map, cores)) {
            let setup = MapPairSetup { run, other: pair.other, share: pair.share };
            cases.push(Case::new(pair.series(), cores as f64, setup));
        }
    }
    cases
}

/// Two maps that a claim compares.
#[derive(Clone, Copy)]
struct Pair {
    map: MapKind,
    other: MapKind,
    /// The share of the other map's time that the time of `map` is compared with.
    share: f64,
}

/// The pairs of the claims, in their order.
const PAIRS: [Pair; 4] = [
    Pair { map: MapKind::Striped, other: MapKind::StripedWrite, share: 1.0 },
    Pair { map: MapKind::StripedWrite, other: MapKind::StripedWritePadded, share: 0.95 },
    Pair { map: MapKind::Dash, other: MapKind::Striped, share: 1.05 },
    Pair { map: MapKind::Papaya, other: MapKind::Striped, share: 1.05 },
];

impl Pair {
    fn series(self) -> String {
        let (map, other) = (self.map.name(), self.other.name());
        format!("{map} less {} of {other}", self.share)
    }

    /// Judges by how many nanoseconds per operation the map takes longer than the share of the other
    /// map's time: more than 0, or less.
    fn judged(self, e: &Evidence<'_>, judge: fn(&str, Reading, f64) -> Judged) -> Judged {
        let threads = on_cores(e)?;
        let alone = |map: MapKind| e.at(map.name(), threads);
        let ratio = ratio(alone(self.map), alone(self.other))?;
        let longer = e.at(&self.series(), threads)?;
        let [map, other] = [self.map, self.other].map(MapKind::name);
        let share = match self.share {
            1.0 => String::new(),
            share => format!("{share} times "),
        };
        let what = format!(
            "{map} over {other}, each measured by itself with {threads} threads: {ratio}; {map} \
             minus {share}{other}, in turn, ns per operation"
        );
        judge(&what, longer, 0.0)
    }
}

/// Names the series of how far a map's size is off after a run.
fn off(map: MapKind) -> String {
    format!("{}: size off by", map.name())
}

/// Names the series of a map's size after a run.
fn said(map: MapKind) -> String {
    format!("{}: size", map.name())
}

const STRIPED: Experiment = Experiment {
    id: "B10",
    name: "sestoft-stripedmap",
    title: "A shared map divided among several locks",
    question: "How much faster is a map that threads share if reads take no lock, and if each lock \
               has its own line?",
    source: "Sestoft, section 5, Figures 2 and 3: 1.6 million operations shared by 1 to 32 threads",
    seen: &[seen(
        "Zen 4",
        "With two threads, an operation takes about 0.6 times as long without locks for reads, and \
         padding saves another tenth. The ratio is similar between cores whose lines take four \
         times as long to move.",
    )],
    about: "Threads look up, put and remove keys of one map. The chart shows the time per \
            operation of all threads together, over the number of threads. StripedMap takes one of \
            32 locks for every operation, StripedWriteMap only for writes, and \
            StripedWriteMapPadded keeps its locks on separate lines. A lock for reads adds two \
            atomic operations per read, on a line that other threads need too. DashMap has a \
            reader-writer lock per shard; papaya::HashMap has no lock and a guard around each \
            operation. Both stand for Java's ConcurrentHashMap, with a hash of one multiplication. \
            Two threads seldom need the same of 32 locks. If readers take no lock, the map keeps \
            removed entries until the run is over; Java leaves them to the garbage collector. A \
            quick run has 1/32 of the note's operations and keys, or more if a thread would do \
            fewer than 4,000 operations. It uses each key as often, but its map fits L2, so locks \
            and lines that move between cores dominate its time; the map of a full run is larger \
            than most L2 caches. Claims compare two maps that run in turn \
            and take the fastest of four runs of each, because in a guest the time of a line \
            between two cores can change fourfold from one second to the next.",
    plot: Some(Plot::nanoseconds(
        Axis::log("threads"),
        Axis::log("time per operation of all threads together"),
    )),
    cases,
    curves,
    claims: &[
        measured(
            "B10.1",
            ours(
                "in the note, StripedMap performs poorly beyond 8 threads on 4 cores and beyond 12 \
                 threads on 24; this claim is about one thread on each core",
            ),
            "with one thread on each core, a map with locks for reads and writes is slower than a \
             map with locks only for writes",
            |e| PAIRS[0].judged(e, at_least),
        ),
        // No impact on the i7; on the Xeon a speed-up of 1.1 to 1.5 for larger thread counts, and a
        // slowdown of only a few percent for low ones.
        measured(
            "B10.2",
            sestoft("5, Figures 2 and 3"),
            "with one thread on each core, padding between locks and sizes makes the map at most 5 \
             % slower",
            |e| PAIRS[1].judged(e, at_least),
        ),
        measured(
            "B10.3",
            ours(
                "in both figures Java's ConcurrentHashMap is no slower than StripedMap; DashMap \
                 stands for it",
            ),
            "with one thread on each core, DashMap takes at most 1.05 times as long as StripedMap",
            |e| PAIRS[2].judged(e, at_most),
        ),
        measured(
            "B10.4",
            ours(
                "in both figures Java's ConcurrentHashMap is no slower than StripedMap; \
                 papaya::HashMap stands for it",
            ),
            "with one thread on each core, papaya::HashMap takes at most 1.05 times as long as \
             StripedMap",
            |e| PAIRS[3].judged(e, at_most),
        ),
        counted(
            "B10.5",
            ours("a map that loses keys could be fast for the wrong reason"),
            "after every run, the size of each of the note's maps is the number of keys put less \
             the number removed, and the number that a count finds; after a run of one thread, all \
             sizes are equal",
            |e| sizes(e, &OWN),
        ),
        counted(
            "B10.6",
            ours("a map that loses keys could be fast for the wrong reason"),
            "after every run, the sizes of DashMap and papaya::HashMap are the number of keys put \
             less the number removed, and the number that a count finds; after a run of one \
             thread, they equal the sizes of the note's maps",
            |e| sizes(e, &PEERS),
        ),
    ],
    ..Experiment::PLAIN
};

fn sizes(e: &Evidence<'_>, maps: &[MapKind]) -> Judged {
    let mut parts = Vec::new();
    let Interval { lo, hi } = *e.at(&said(MapKind::Striped), 1.0)?;
    for &map in maps {
        parts.push(between(&said(map), e.at(&said(map), 1.0), lo, hi));
        for threads in threads(e.machine) {
            let found = e.at(&off(map), threads as f64)?;
            let what = match threads {
                1 => format!("{}: size wrong by, with 1 thread", map.name()),
                _ => format!("{}: size wrong by, with {threads} threads", map.name()),
            };
            parts.push(between(&what, found, 0.0, 0.0));
        }
    }
    all_of(parts)
}

/// Returns the times. Points with more threads than CPUs form separate curves.
fn curves(e: &Evidence<'_>) -> Vec<Curve> {
    let cpus = e.machine.cpu_order.cpus().max(1) as f64;
    let mut curves = Vec::new();
    for map in MapKind::ALL {
        let points = e.series(map.name()).unwrap_or_default();
        let (on_own, shared) = points.into_iter().partition(|(x, _)| *x <= cpus);
        for (more, points) in [("", on_own), (", more threads than CPUs", shared)] {
            curves.push(Curve { label: format!("{}{more}", map.name()), points });
        }
    }
    curves.retain(|curve: &Curve| !curve.points.is_empty());
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    #[test]
    fn every_thread_has_thousands_of_operations_and_every_key_sixteen() {
        let quick = unknown();
        let full = Machine { full: true, ..unknown() };
        for threads in [1, 2, 12, 96, 512] {
            for machine in [&quick, &full] {
                let (operations, range) = run_of(machine, threads);
                assert!(operations / threads as u64 >= LEAST, "{threads}");
                assert_eq!(operations / u64::from(range), 16, "{threads}");
            }
        }
        assert_eq!(run_of(&quick, 2), (50_000, 3_125));
        assert_eq!(run_of(&full, 32), (OPERATIONS, RANGE));
    }
}
