//! Messages between threads that share lines: Sestoft's k-means and his table of 4 x 3.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::{CountSetup, Counted};
use crate::experiment::topics::coherence::mesi::PROTOCOL;
use crate::experiment::topics::coherence::series;
use crate::pattern::Rng;
use crate::sim::mesi::{Mesi, Messages};

/// What a thread does to its number: the rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Update {
    /// A load and a store.
    Plain,
    /// One atomic addition.
    Add,
    /// A load and a compare-and-swap, repeated until no other thread interferes.
    CompareAndSwap,
    /// Takes a lock, retrying until it is free, and releases it.
    Lock,
}

const UPDATES: [(&str, Update); 4] = [
    ("plain", Update::Plain),
    ("add", Update::Add),
    ("compare and swap", Update::CompareAndSwap),
    ("lock", Update::Lock),
];

/// Maps a core to the number that its thread counts, and to the line of this number.
type Place = fn(usize) -> (usize, u64);

/// Where the threads' numbers lie: the columns of the table.
const PLACES: [(&str, Place); 3] = [
    ("shared", |_| (0, 0)),
    ("dense", |core| (core, core as u64 / A_LINE)),
    ("padded", |core| (core, core as u64)),
];

const SHARED: &str = PLACES[0].0;
const DENSE: &str = PLACES[1].0;
const PADDED: &str = PLACES[2].0;

/// Number of Java's `int`s in a line of 64 bytes.
const A_LINE: u64 = 16;

const CORES: [usize; 5] = [1, 2, 4, 8, 16];

/// Returns the requests per operation. The cores make one access each, again and again. `which`
/// encodes a cell of the table and the number of cores.
fn requests(which: u64) -> Testable<f64> {
    let (cell, cores) = (which as usize / CORES.len(), CORES[which as usize % CORES.len()]);
    let (_, update) = UPDATES[cell / PLACES.len()];
    let (_, place) = PLACES[cell % PLACES.len()];
    let mut threads = SimulatedThreads {
        caches: Mesi::new(PROTOCOL, cores),
        update,
        place,
        numbers: vec![0; cores],
        progress: vec![Progress::default(); cores],
    };
    // The first operations bring the lines into the caches.
    threads.work(4);
    let before = threads.caches.messages();
    threads.work(260);
    let sent = threads.caches.messages() - before;
    Ok(sent.requests() as f64 / (256 * cores) as f64)
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    done: u64,
    /// The value that the thread loaded, or a mark that it holds the lock.
    holds: Option<u64>,
}

/// The threads of a cell of the table, and their caches.
struct SimulatedThreads {
    caches: Mesi,
    update: Update,
    place: Place,
    numbers: Vec<u64>,
    progress: Vec<Progress>,
}

impl SimulatedThreads {
    /// Makes accesses until every thread has done `operations` operations.
    fn work(&mut self, operations: u64) {
        while self.progress.iter().any(|thread| thread.done < operations) {
            for core in 0..self.progress.len() {
                if self.progress[core].done < operations {
                    self.access(core);
                }
            }
        }
    }

    fn access(&mut self, core: usize) {
        let (number, line) = (self.place)(core);
        let value = &mut self.numbers[number];
        let thread = &mut self.progress[core];
        let done = match (self.update, thread.holds) {
            (Update::Plain | Update::CompareAndSwap, None) => {
                self.caches.read(core, line);
                thread.holds = Some(*value);
                return;
            }
            (Update::CompareAndSwap, Some(seen)) => seen == *value,
            (Update::Lock, None) => {
                // An attempt must own the line, whether the lock is free or not.
                self.caches.write(core, line, 0);
                if *value == 0 {
                    *value = 1;
                    thread.holds = Some(1);
                }
                return;
            }
            (Update::Plain | Update::Add | Update::Lock, _) => true,
        };
        self.caches.write(core, line, 0);
        *value = match self.update {
            Update::Lock => 0,
            _ => *value + u64::from(done),
        };
        thread.holds = None;
        thread.done += u64::from(done);
    }
}

/// A variant of k-means, by what its threads read and write per point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// 2P: all points are assigned first, and then added to the sums, which lie beside the means.
    InTurn,
    /// 2Q: each point is added as soon as it is assigned.
    AtOnce,
    /// 2Q with the sums on separate lines.
    Padded,
    /// 3P: each thread has its own sums.
    Own,
}

const CLUSTERS: usize = 81;
const THREADS: usize = 4;
const POINTS: usize = 200;

/// Returns the requests per point and the misses on means per point of one iteration over the
/// points, after every core has read all means once.
fn iteration(means: Means) -> (f64, f64) {
    let mut caches = Mesi::new(PROTOCOL, THREADS);
    let sums = |core: usize, cluster: u64| match means {
        Means::InTurn | Means::AtOnce => cluster,
        Means::Padded => 1000 + cluster,
        Means::Own => 1000 * (core as u64 + 2) + cluster,
    };
    for core in 0..THREADS {
        for cluster in 0..CLUSTERS as u64 {
            caches.read(core, cluster);
        }
    }
    let before = caches.messages();
    let mut missed = 0;
    // A random nearest cluster is good enough to model which threads share which lines.
    let mut rng = Rng::new(1);
    let mut nearest = || rng.below(CLUSTERS) as u64;
    let assigned: Vec<[u64; THREADS]> =
        (0..POINTS).map(|_| [(); THREADS].map(|()| nearest())).collect();
    let add = |caches: &mut Mesi, point: usize| {
        for (core, &cluster) in assigned[point].iter().enumerate() {
            caches.write(core, sums(core, cluster), 0);
        }
    };
    for point in 0..POINTS {
        for cluster in 0..CLUSTERS as u64 {
            for core in 0..THREADS {
                let reads = caches.messages().reads;
                caches.read(core, cluster);
                missed += caches.messages().reads - reads;
            }
        }
        if means != Means::InTurn {
            add(&mut caches, point);
        }
    }
    if means == Means::InTurn {
        (0..POINTS).for_each(|point| add(&mut caches, point));
    }
    let points = (POINTS * THREADS) as f64;
    let sent: Messages = caches.messages() - before;
    (sent.requests() as f64 / points, missed as f64 / points)
}

static MEANS: [Counted; 5] = [
    Counted::within("2Q: means read again per point", (0.5, 81.0), || {
        Ok(iteration(Means::AtOnce).1)
    }),
    Counted::exactly("2P: means read again per point", 0.0, || Ok(iteration(Means::InTurn).1)),
    Counted::exactly("2Q padded: means read again per point", 0.0, || {
        Ok(iteration(Means::Padded).1)
    }),
    Counted::exactly("3P: means read again per point", 0.0, || Ok(iteration(Means::Own).1)),
    Counted::within("3P: requests per point", (0.0, 0.5), || Ok(iteration(Means::Own).0)),
];

pub(crate) const EXPLANATION: Experiment = Experiment {
    id: "B15",
    name: "sestoft-mesi-explanation",
    title: "Requests for lines that other cores have written",
    question: "How often must a core request a line because another core wrote to it?",
    source: "Sestoft, sections 3 and 4.2: `addToMean` invalidates the line of the mean in all \
             other caches, and variant 3P leaves it shared",
    about: "A model of the MESI protocol counts the requests for lines that cores send per \
            operation. The cores make one access each in turn, so that a line that several cores \
            write changes its owner at every operation. A dense array therefore causes as many \
            requests as one shared number; padding puts each number on a line of its own and ends \
            the requests. In the model, padded numbers and a single core cause no requests by \
            construction. A shared compare-and-swap or lock adds failed attempts, and their number \
            grows with the number of cores. Real cores differ: a core that has a line keeps it for \
            many operations (B8 times that). For k-means the model counts how often a core must \
            read a mean again. 2Q writes the sums while other cores read the means on the same \
            lines; 2P writes the same lines, but only after the means have been read.",
    plot: Some(Plot::lines(
        Axis::log("cores"),
        Axis::linear("requests per operation"),
        Unit::Count,
    )),
    cases,
    curves: |e| {
        let mut curves = e.curves();
        curves.retain(|curve| curve.points.len() > 1);
        curves
    },
    claims: &[
        // Subcase (c): no false sharing is left, because padding scatters the locations.
        simulated(
            "B15.1",
            sestoft("4.2"),
            "in the model, padded numbers cause no requests after the first, and neither do any \
             numbers of a single core",
            |e| {
                let padded = CORES.map(|cores| (PADDED, cores));
                let quiet = || padded.into_iter().chain([(SHARED, 1), (DENSE, 1)]);
                all_of(UPDATES.iter().flat_map(|(update, _)| {
                    quiet().map(|(place, cores)| cell(e, update, place, cores, [0.0, 0.0]))
                }))
            },
        ),
        // Subcases (a) and (b): threads compete for one location, or share its line falsely. One
        // request per operation is our threshold.
        simulated(
            "B15.2",
            sestoft("4.2"),
            "in the model, with 2 or more cores, shared and dense numbers cause one or more \
             requests per operation",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in UPDATES {
                    for &cores in &CORES[1..] {
                        let of = |place| cell(e, update, place, cores, [1.0, f64::INFINITY]);
                        parts.extend([SHARED, DENSE].map(of));
                    }
                }
                all_of(parts)
            },
        ),
        simulated(
            "B15.3",
            ours("whether neighbouring numbers cause fewer requests than one shared number"),
            "in the model, plain and atomic additions cause as many requests for dense numbers as \
             for a shared number",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in &UPDATES[..2] {
                    for cores in &CORES[1..] {
                        let of = |place| value(e, update, place, *cores);
                        let what = format!("{update}, {cores} cores, shared over dense");
                        parts.push(between(&what, ratio(of(SHARED), of(DENSE)), 1.0, 1.0));
                    }
                }
                all_of(parts)
            },
        ),
        simulated(
            "B15.4",
            ours("how much traffic failed attempts add to a shared number"),
            "in the model, with 16 cores, compare-and-swap and locks cause more than twice as many \
             requests for a shared number as for dense numbers, because attempts fail",
            |e| {
                all_of(UPDATES[2..].iter().map(|(update, _)| {
                    let of = |place| value(e, update, place, 16);
                    let what = format!("{update}, shared over dense");
                    at_least(&what, ratio(of(SHARED), of(DENSE)), 2.0)
                }))
            },
        ),
        // addToMean invalidates the line of the mean in all other caches, and their next reads of
        // the mean miss. One miss for every second point is our threshold.
        simulated(
            "B15.5",
            sestoft("2"),
            "in the model, with 4 threads, variant 2Q makes a core read at least one mean again \
             for every second point",
            |e| Counted::all(e, &MEANS[..1]),
        ),
        // In the update step of 2P the invalidations are harmless, as no thread reads a mean;
        // padding puts means and sums on different lines.
        simulated(
            "B15.6",
            sestoft("2"),
            "in the model, neither variant 2P nor variant 2Q with sums on separate lines makes a \
             core read a mean again",
            |e| Counted::all(e, &MEANS[1..3]),
        ),
        // The shared data of 3P do not change, so that their lines remain in state S without
        // messages.
        simulated(
            "B15.7",
            sestoft("3"),
            "in the model, variant 3P leaves all means shared, and sends less than one request for \
             every second point",
            |e| Counted::all(e, &MEANS[3..]),
        ),
    ],
    ..Experiment::PLAIN
};

fn cases(_: &Machine) -> Vec<Case> {
    let cells = UPDATES
        .iter()
        .flat_map(|(update, _)| PLACES.iter().map(|(place, _)| series(update, place)));
    let table = cells.enumerate().flat_map(|(cell, series)| {
        CORES.iter().enumerate().map(move |(index, &cores)| {
            let which = (cell * CORES.len() + index) as u64;
            let setup = CountSetup::computed("requests per operation", which, requests);
            Case::new(series.clone(), cores as f64, setup)
        })
    });
    table.chain(Counted::cases(&MEANS)).collect()
}

fn value(e: &Evidence<'_>, update: &str, place: &str, cores: usize) -> Testable<Reading> {
    e.at(&series(update, place), cores as f64)
}

fn cell(
    e: &Evidence<'_>,
    update: &str,
    place: &str,
    cores: usize,
    [least, most]: [f64; 2],
) -> Judged {
    let what = format!("{}, {cores} cores", series(update, place));
    between(&what, value(e, update, place, cores), least, most)
}
