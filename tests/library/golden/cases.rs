//! The cases of every experiment on planted machines, and the memory accesses of their kernels.
//!
//! `cases.txt` has every case of every planted machine. `traces.txt` has the traces of all cases on a small
//! machine, which take seconds in a debug build. For the other machines it has only the small cases of quick
//! runs, because their set-ups are the same in other sizes.
//!
//! Numbers that depend on the host's CPUID, on counters, on other programs or on the timing of threads are
//! not compared ([`LEFT_OUT`]). Nor are cases whose instructions the host lacks; the test reports these.

use std::collections::{BTreeSet, HashMap};

use linefill::cpu::{Feature, Features};
use linefill::experiment::{
    Arena, Case, Context, Experiment, Linux, PageRequest, SampleOf, Timing, Untestable, Workload,
    all,
};
use linefill::kernel::{Access, Kernel, Kind, Work};
use linefill::os::Worker;

use crate::common::golden::{Golden, Hash};
use crate::common::untested;
use crate::verdicts::machines::{self, Known};

/// The number of accesses per trace that are hashed on the small machine.
const ACCESSES: usize = 2_000;

/// The same number for the other machines.
const FEW_ACCESSES: usize = 1_000;

/// After this number of operations, a kernel is assumed to make no more accesses.
const OPERATIONS: u64 = 4_000;

/// Numbers and set-ups that are not compared: the experiment, and the prefix of the series.
const LEFT_OUT: [(&str, &str); 42] = [
    // Published numbers of the CPU that runs the test, and the CPU's topology.
    ("A4", "outstanding misses of L1d, as published"),
    ("E2", "write-combining buffers, as published"),
    ("D33", "published"),
    ("E25", "share"),
    ("E43", ""),
    ("X9", "entries, as"),
    ("X10", "outstanding misses of L1d, as published"),
    ("D2", "bytes of"),
    ("D3", ""),
    ("D43", "arrangement"),
    ("X22", "published entries"),
    // Counters of the CPU, and samples of its time.
    ("A5", ""),
    ("A6", ""),
    // Results of threads that need CPUs other than the test's, or that depend on a race.
    ("B6", "1P: "),
    ("B6", "2P: "),
    ("B6", "2Q: "),
    ("B6", "2Q padded: "),
    ("B6", "3P"),
    ("B6", "own sums"),
    ("B10", ""),
    ("D24", "a locked addition to a line that another core"),
    ("D24", "the same to a line that another core"),
    ("D24", "load"),
    ("D24", "round trip"),
    ("D34", "another core"),
    ("D44", "read, beside"),
    ("D44", "write, beside"),
    ("E38", ""),
    ("X13", ""),
    // The address of the test's memory, its page tables, and system permissions.
    ("D5", "times a hot line"),
    ("D5", "the same while"),
    ("E14", "unasked boxes"),
    ("E14", "bytes from a box"),
    ("E26", "page directories"),
    ("E35", ""),
    // The installed compiler.
    ("E39", ""),
    ("X3", "mmap(MAP_POPULATE)"),
    ("X7", "locked addition"),
    // Instructions that only AMD's CPUs have.
    ("E1", "bytes arrived by _mm_stream_sd"),
    ("E1", "bytes arrived by _mm_stream_ss"),
    // Together these take a minute in a debug build. `tests/kernels/kmeans.rs` tests B1's iterations.
    ("C5", "nested, 64 KiB"),
    ("B1", ""),
];

/// Not compared: left out, too large, or not supported by this CPU.
const NONE: &str = "-";

#[test]
fn every_experiment_has_the_same_cases() {
    let mut places = HashMap::new();
    let mut golden = Golden::new(
        "cases",
        "Machine, experiment and series; for each case a hash of x, bytes and pages.",
    );
    for known in machines::known() {
        for experiment in all() {
            let cases = (experiment.cases)(&known);
            for (series, cases) in by_series(&cases) {
                let key = key(known.name, experiment, series);
                let hashes: Vec<_> = cases.iter().map(|case| shape(case).digits(4)).collect();
                golden.push(&key, hashes.join(" "));
                places.insert(key, places_of(&cases));
            }
        }
    }
    golden.explaining(move |key, old, new| first_change(places.get(key), old, new)).check();
}

#[test]
fn kernels_of_cases_do_the_same_to_memory() {
    let mut tracer = Tracer {
        left_out: BTreeSet::new(),
        accesses: 0,
        arena: Arena::on(&Linux),
        known: HashMap::new(),
    };
    let mut places = HashMap::new();
    let mut golden = Golden::new(
        "traces",
        "Machine, experiment and series; for each case a hash of its work, operations, and first \
         accesses,\nor of the number that is counted. `-`: not compared (it depends on the \
         host, or is too large).",
    );
    for (known, largest, accesses) in traced() {
        tracer.accesses = accesses;
        for experiment in all() {
            let cases = (experiment.cases)(&known);
            for (series, cases) in by_series(&cases) {
                if cases.iter().all(|case| case.setup.bytes() > largest) {
                    continue;
                }
                let hashes: Vec<_> = cases
                    .iter()
                    .map(|case| match case.setup.bytes() <= largest {
                        true => tracer.outcome(experiment, case),
                        false => NONE.to_owned(),
                    })
                    .collect();
                let key = key(known.name, experiment, series);
                golden.push(&key, hashes.join(" "));
                places.insert(key, places_of(&cases));
            }
        }
    }
    let stale = (0..LEFT_OUT.len()).filter(|row| !tracer.left_out.contains(row));
    let stale: Vec<_> = stale.map(|row| LEFT_OUT[row]).collect();
    assert!(stale.is_empty(), "left out, but not there: {stale:?}");
    let lacking: Vec<_> = WANTED
        .into_iter()
        .filter(|feature| !Features::detect().has(*feature))
        .map(Feature::name)
        .collect();
    let golden = golden.explaining(move |key, old, new| first_change(places.get(key), old, new));
    if lacking.is_empty() {
        return golden.check();
    }
    assert!(
        std::env::var_os("BLESS").is_none(),
        "this CPU lacks {}: bless on a CPU that has it",
        lacking.join(", ")
    );
    untested::machine(&format!("some traces need {}", lacking.join(", ")));
    golden.comparing(same_where_run).check();
}

/// All features that the traces need.
const WANTED: [Feature; 6] = [
    Feature::Sse41,
    Feature::Avx2,
    Feature::Fma,
    Feature::Avx512,
    Feature::Clflushopt,
    Feature::Clwb,
];

/// The machines whose cases are traced, the maximum bytes of such a case, and the number of accesses hashed.
/// The small machine has all its cache levels in 128 KiB, so that its memory needs only 1 MiB.
fn traced() -> [(Known, usize, usize); 3] {
    let small = Known { name: "the small machine", machine: machines::small() };
    let [server, zen, _] = machines::known();
    [(small, 8 << 20, ACCESSES), (server, 64 << 10, FEW_ACCESSES), (zen, 64 << 10, FEW_ACCESSES)]
}

/// The cases by series, in order.
fn by_series(cases: &[Case]) -> Vec<(&str, Vec<&Case>)> {
    let mut all: Vec<(&str, Vec<&Case>)> = Vec::new();
    for case in cases {
        match all.iter_mut().find(|(series, _)| *series == case.series) {
            Some((_, cases)) => cases.push(case),
            None => all.push((&case.series, vec![case])),
        }
    }
    all
}

fn key(machine: &str, experiment: &Experiment, series: &str) -> String {
    format!("{machine} | {} | {series}", experiment.id)
}

/// A name for each case.
fn places_of(cases: &[&Case]) -> Vec<String> {
    let place = |case: &&Case| format!("x = {}, {} bytes", case.x, case.setup.bytes());
    cases.iter().map(place).collect()
}

/// Names the first case that differs.
fn first_change(places: Option<&Vec<String>>, old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.split(' ').collect(), new.split(' ').collect());
    let count = match old.len() == new.len() {
        true => String::new(),
        false => format!(" ({} cases, were {})", new.len(), old.len()),
    };
    let differs = |index: &usize| new.get(*index) != old.get(*index);
    let first = (0..old.len().max(new.len())).find(differs).unwrap_or(0);
    let place = places.and_then(|places| places.get(first));
    format!(
        "    first at case {first}, {}: was {}, is {}{count}\n",
        place.map_or("no longer there", |place| place),
        old.get(first).unwrap_or(&"nothing"),
        new.get(first).unwrap_or(&"nothing"),
    )
}

/// Whether the values of a series agree. A value that this CPU cannot compute counts as equal.
fn same_where_run(old: &str, new: &str) -> bool {
    let (old, new): (Vec<_>, Vec<_>) = (old.split(' ').collect(), new.split(' ').collect());
    let agree = |(old, new): (&&str, &&str)| old == new || *new == NONE;
    old.len() == new.len() && old.iter().zip(&new).all(agree)
}

fn shape(case: &Case) -> Hash {
    let mut hash = Hash::default();
    hash.word(case.x.to_bits());
    hash.word(case.setup.bytes() as u64);
    hash.word(match case.pages {
        PageRequest::Base => 0,
        PageRequest::Huge => 1,
        PageRequest::Giant => 2,
        PageRequest::Reserved => 3,
        PageRequest::HugeIfAny => 4,
    });
    hash.word(u64::from(case.own_pages) | u64::from(case.in_turn) << 1);
    hash
}

/// Traces each set-up only once.
struct Tracer {
    /// The rows of [`LEFT_OUT`] that a case was left out for.
    left_out: BTreeSet<usize>,
    accesses: usize,
    arena: Arena,
    known: HashMap<String, String>,
}

impl Tracer {
    fn outcome(&mut self, experiment: &Experiment, case: &Case) -> String {
        let left_out =
            |(id, series): &(&str, &str)| *id == experiment.id && case.series.starts_with(series);
        if let Some(row) = LEFT_OUT.iter().position(left_out) {
            self.left_out.insert(row);
            return NONE.to_owned();
        }
        // Set-ups that print the same are the same. A count has no accesses.
        let accesses = match case.setup.is_count() {
            true => 0,
            false => self.accesses,
        };
        let name = format!("{accesses} {:?} {:?}", case.pages, case.setup);
        // Counters of the CPU.
        if name.contains("what: Counted(") {
            return NONE.to_owned();
        }
        if let Some(hash) = self.known.get(&name) {
            return hash.clone();
        }
        let hash = self.trace(case);
        self.known.insert(name, hash.clone());
        hash
    }

    /// Traces a case. Uses newer instructions only if the case needs them, so that traces are the same on all
    /// hosts.
    fn trace(&mut self, case: &Case) -> String {
        let all = Features::detect();
        let [common, all] = ["avx512,clwb,cldemote", "cldemote"].map(|of| all.without(of).unwrap());
        let hash = self.hash(case, common).or_else(|_| self.hash(case, all));
        hash.map_or(NONE.to_owned(), |hash| hash.digits(8))
    }

    fn hash(&mut self, case: &Case, features: Features) -> Result<Hash, Untestable> {
        let (mut region, _) = self.arena.region(case.setup.bytes(), PageRequest::Base)?;
        // A trace must not depend on what another case left in the memory.
        region.bytes_mut().fill(0);
        let subject = case.setup.traced(region, &Context { features, host: &Linux })?;
        Ok(hash_of(subject, self.accesses))
    }
}

/// Hashes a prepared case, with at most `most` accesses per kernel.
fn hash_of(subject: Workload<'_>, most: usize) -> Hash {
    let mut hash = Hash::default();
    match subject {
        Workload::Steady { mut kernel, period, beside } => {
            hash.word(1 + u64::from(beside.is_some()));
            hash.word(period);
            hash_trace(&mut *kernel, most, &mut hash);
        }
        Workload::Threads { workers, timing } => {
            match timing {
                Timing::AtOnce { sample, period, in_step } => {
                    hash.word(3);
                    hash.word(match sample {
                        SampleOf::First => 0,
                        SampleOf::Fastest => 1,
                        SampleOf::Median => 2,
                        SampleOf::Slowest => 3,
                    });
                    hash.word(period);
                    hash.word(in_step.into());
                }
                Timing::Helped { period, .. } => {
                    hash.word(4);
                    hash.word(period);
                }
                Timing::Runs { operations, less, .. } => {
                    hash.word(6);
                    hash.word(operations);
                    hash.word(less.map_or(0, f64::to_bits));
                }
            }
            hash_workers(workers, most, &mut hash);
        }
        Workload::Shot { shot, work } => {
            hash.word(5);
            hash.word(shot.operations());
            hash_work(work, &mut hash);
        }
        Workload::Count(value) => {
            hash.word(7);
            hash.word(value.to_bits());
        }
    }
    hash
}

fn hash_workers(workers: Vec<Worker<'_>>, most: usize, hash: &mut Hash) {
    for mut worker in workers {
        hash.word(worker.cpu as u64);
        hash_trace(&mut *worker.kernel, most, hash);
    }
}

fn hash_trace(kernel: &mut dyn Kernel, most: usize, hash: &mut Hash) {
    hash_work(kernel.work(), hash);
    let (mut accesses, mut operations, mut portion) = (0, 0, 1);
    while accesses < most && operations < OPERATIONS {
        kernel.trace(portion, &mut |access| {
            if accesses < most {
                hash_access(access, hash);
            }
            accesses += 1;
        });
        operations += portion;
        portion = (2 * portion).min(1024);
    }
    hash.word(accesses.min(most) as u64);
}

fn hash_access(access: Access, hash: &mut Hash) {
    let kind = match access.kind {
        Kind::Load => 0,
        Kind::Store => 1,
        Kind::NonTemporalStore => 2,
        Kind::Prefetch => 3,
        other => panic!("{other:?} has no number"),
    };
    hash.word(access.offset as u64);
    hash.word(u64::from(access.bytes) << 2 | kind);
}

fn hash_work(work: Work, hash: &mut Hash) {
    let Work { loads, stores, bytes_read, bytes_written, flops, instructions } = work;
    for count in [loads, stores, bytes_read, bytes_written] {
        hash.word(count.into());
    }
    hash.word(flops);
    hash.word(instructions);
}
