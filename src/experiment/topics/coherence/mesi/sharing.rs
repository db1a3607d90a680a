//! What threads that share lines send to each other: Sestoft's k-means and his table of 4 x 3.

use crate::experiment::claim::counted::{self, Counted};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::coherence::mesi::{Found, PROTOCOL};
use crate::pattern::Rng;
use crate::sim::mesi::{Mesi, Messages};
use crate::stats::Interval;

/// What a thread does to its number: the rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Update {
    /// Loads it, and stores it.
    Plain,
    /// Adds in one atomic operation.
    Add,
    /// Loads it, and puts the sum in its place unless somebody else changed it; then again.
    CompareAndSwap,
    /// Takes a lock, by trying until it is free, and gives it back.
    Lock,
}

const UPDATES: [(&str, Update); 4] = [
    ("plain", Update::Plain),
    ("add", Update::Add),
    ("compare and swap", Update::CompareAndSwap),
    ("lock", Update::Lock),
];

/// The number that a core's thread counts, and its line.
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

/// Java's `int`s in a line of 64 bytes.
const A_LINE: u64 = 16;

/// Numbers of cores.
const CORES: [usize; 5] = [1, 2, 4, 8, 16];

fn series(update: &str, place: &str) -> String {
    format!("{update}, {place}")
}

/// Requests an operation, the cores doing one access each in turn. `which` is a cell of the table
/// and the number of cores.
fn requests(which: u64) -> Found {
    let (cell, cores) = (
        which as usize / CORES.len(),
        CORES[which as usize % CORES.len()],
    );
    let (_, update) = UPDATES[cell / PLACES.len()];
    let (_, place) = PLACES[cell % PLACES.len()];
    let mut team = Team {
        caches: Mesi::new(PROTOCOL, cores),
        update,
        place,
        numbers: vec![0; cores],
        members: vec![Member::default(); cores],
    };
    // The first operations bring the lines in.
    team.work(4);
    let before = team.caches.messages();
    team.work(260);
    let sent = team.caches.messages() - before;
    Ok(sent.requests() as f64 / (256 * cores) as f64)
}

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    done: u64,
    /// What it loaded, or that it holds the lock.
    holds: Option<u64>,
}

/// Threads at work.
struct Team {
    caches: Mesi,
    update: Update,
    place: Place,
    numbers: Vec<u64>,
    members: Vec<Member>,
}

impl Team {
    /// Goes on until every thread has done so many operations.
    fn work(&mut self, operations: u64) {
        while self.members.iter().any(|member| member.done < operations) {
            for core in 0..self.members.len() {
                if self.members[core].done < operations {
                    self.access(core);
                }
            }
        }
    }

    /// The next access of a thread.
    fn access(&mut self, core: usize) {
        let (number, line) = (self.place)(core);
        let value = &mut self.numbers[number];
        let member = &mut self.members[core];
        let done = match (self.update, member.holds) {
            (Update::Plain | Update::CompareAndSwap, None) => {
                self.caches.read(core, line);
                member.holds = Some(*value);
                return;
            }
            (Update::CompareAndSwap, Some(seen)) => seen == *value,
            (Update::Lock, None) => {
                // An attempt needs the line to itself, whether the lock is free or not.
                self.caches.write(core, line, 0);
                if *value == 0 {
                    *value = 1;
                    member.holds = Some(1);
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
        member.holds = None;
        member.done += u64::from(done);
    }
}

/// A variant of k-means: what its threads read and write for a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// 2P: all points are assigned first, and then added to the sums beside the means.
    InTurn,
    /// 2Q: each point is added as soon as it is assigned.
    AtOnce,
    /// 2Q with the sums on lines of their own.
    Padded,
    /// 3P: each thread has sums of its own.
    Own,
}

const CLUSTERS: usize = 81;
const THREADS: usize = 4;
const POINTS: usize = 200;

/// What an iteration over the points sends, all means having been read before: requests, and
/// reads of means that were not there, a point.
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
    // Which cluster is nearest is as good as random for who shares what.
    let mut rng = Rng::new(1);
    let mut nearest = || rng.below(CLUSTERS) as u64;
    let assigned: Vec<[u64; THREADS]> = (0..POINTS)
        .map(|_| [(); THREADS].map(|()| nearest()))
        .collect();
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
    Counted::within("2Q: means read again, a point", (0.5, 81.0), || {
        Ok(iteration(Means::AtOnce).1)
    }),
    Counted::exactly("2P: means read again, a point", 0.0, || {
        Ok(iteration(Means::InTurn).1)
    }),
    Counted::exactly("2Q padded: means read again, a point", 0.0, || {
        Ok(iteration(Means::Padded).1)
    }),
    Counted::exactly("3P: means read again, a point", 0.0, || {
        Ok(iteration(Means::Own).1)
    }),
    Counted::within("3P: requests a point", (0.0, 0.5), || {
        Ok(iteration(Means::Own).0)
    }),
];

pub(crate) const EXPLANATION: Experiment = Experiment {
    id: "B15",
    name: "sestoft-mesi-explanation",
    title: "Who takes whose line away",
    question: "How often must a core ask for a line because another one wrote to it?",
    source: "Sestoft, sections 3 and 4.2: `addToMean` invalidates the line of the mean in all other \
             caches, and 3P leaves it shared",
    seen: &[],
    about: "Counted in a model of MESI whose cores make one access each in turn. A line that is \
            written in turn is asked for once an operation, whether all threads write one number \
            or neighbouring ones: a dense array is no better than a shared number as far as \
            lines go, and padding ends it. That padded numbers are never asked for follows from \
            the model by construction, as does what one core does alone. Where a number is \
            shared by compare-and-swap or a lock, attempts fail as well, the more the more cores \
            there are. Real cores differ in that they keep a line for many operations once they \
            have it (B8 times that). In k-means, 2P writes the same lines as 2Q but not while \
            the means are read.",
    plot: Some(Plot::lines(
        Axis::log("cores"),
        Axis::linear("requests an operation"),
        Unit::Count,
    )),
    cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.points.len() > 1);
        curves
    },
    events: &[],
    claims: &[
        // Subcase (c): no false sharing is left, because padding scatters the locations.
        simulated(
            "B15.1",
            sestoft("4.2"),
            "in the model padded numbers are never asked for again, and neither is any number by \
             one core alone",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in UPDATES {
                    for cores in CORES {
                        parts.push(cell(e, update, PADDED, cores, 0.0, 0.0));
                    }
                    parts.push(cell(e, update, SHARED, 1, 0.0, 0.0));
                    parts.push(cell(e, update, DENSE, 1, 0.0, 0.0));
                }
                all_of(parts)
            },
        ),
        // Subcases (a) and (b): threads compete for one location, or share its line falsely.
        // Once an operation is our measure.
        simulated(
            "B15.2",
            sestoft("4.2"),
            "in the model, from 2 cores on, shared and dense numbers are asked for once an \
             operation or more often",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in UPDATES {
                    for cores in &CORES[1..] {
                        for place in [SHARED, DENSE] {
                            parts.push(cell(e, update, place, *cores, 1.0, f64::INFINITY));
                        }
                    }
                }
                all_of(parts)
            },
        ),
        simulated(
            "B15.3",
            ours(
                "whether neighbouring numbers are any better than one shared number, as far as \
                 lines go",
            ),
            "in the model plain and atomic additions ask as often for dense numbers as for a \
             shared one",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in &UPDATES[..2] {
                    for cores in &CORES[1..] {
                        let of = |place| value(e, update, place, *cores);
                        parts.push(between(update, ratio(of(SHARED), of(DENSE)), 1.0, 1.0));
                    }
                }
                all_of(parts)
            },
        ),
        simulated(
            "B15.4",
            ours("what attempts that fail add to the traffic of a shared number"),
            "in the model, with 16 cores, compare-and-swap and locks ask more than twice as \
             often for a shared number as for dense ones, because attempts fail",
            |e| {
                let mut parts = Vec::new();
                for (update, _) in &UPDATES[2..] {
                    let of = |place| value(e, update, place, 16);
                    parts.push(at_least(update, ratio(of(SHARED), of(DENSE)), 2.0));
                }
                all_of(parts)
            },
        ),
        // addToMean invalidates the line of the mean in all other caches, and their next reads
        // of the mean miss. Every other point is our measure.
        simulated(
            "B15.5",
            sestoft("2"),
            "in the model, with 4 threads, 2Q makes a core read a mean again for every other \
             point or more often",
            |e| counted::all(e, &MEANS[..1]),
        ),
        // In the update step of 2P the invalidations do no harm, as no mean is read; padding
        // keeps the means on other lines than the sums.
        simulated(
            "B15.6",
            sestoft("2"),
            "in the model neither 2P nor 2Q with sums on lines of their own makes a core read a \
             mean again",
            |e| counted::all(e, &MEANS[1..3]),
        ),
        // Shared data of 3P do not change, so that their lines remain in state S, without
        // messages.
        simulated(
            "B15.7",
            sestoft("3"),
            "in the model 3P leaves all means shared, and asks for lines less than every other \
             point",
            |e| counted::all(e, &MEANS[3..]),
        ),
    ],
};

fn cases(_: &Machine) -> Vec<Case> {
    let cells = UPDATES
        .iter()
        .flat_map(|(update, _)| PLACES.iter().map(|(place, _)| series(update, place)));
    let table = cells.enumerate().flat_map(|(cell, series)| {
        CORES.iter().enumerate().map(move |(index, &cores)| {
            let setup = CountSetup {
                name: "requests an operation",
                bytes: 0,
                count: |_, which| requests(which),
                argument: (cell * CORES.len() + index) as u64,
            };
            Case::new(series.clone(), cores as f64, setup)
        })
    });
    table.chain(counted::cases(&MEANS)).collect()
}

fn value(
    e: &Evidence<'_>,
    update: &str,
    place: &str,
    cores: usize,
) -> Result<Interval, Untestable> {
    e.at(&series(update, place), cores as f64)
}

fn cell(
    e: &Evidence<'_>,
    update: &str,
    place: &str,
    cores: usize,
    least: f64,
    most: f64,
) -> Judged {
    let what = format!("{}, {cores} cores", series(update, place));
    between(&what, value(e, update, place, cores), least, most)
}
