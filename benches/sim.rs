//! The simulator: references a second in one level of 8 ways, and in three caches beside
//! cachegrind on the same trace, where there is a valgrind.
//!
//! Like is held against like three times: all of cachegrind's run, which starts valgrind and
//! executes the program; the run without its start, as the difference of a long and a short one;
//! and the simulation alone, which is that less what valgrind's translator takes without a tool.

mod common {
    pub mod clock;
    pub mod driver;
}
#[path = "../tests/common/valgrind.rs"]
mod valgrind;

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use common::driver::{Driver, Timed};
use criterion::Throughput;
use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Geometry, Hierarchy, HierarchyDesign, Reference, Runs, Stack};
use linefill::time::{start, stop};
use valgrind::Program;

/// References of a trace that is made here: enough that no branch predictor learns it.
const LENGTH: usize = 1 << 18;

/// I1, D1 and LL, as cachegrind's options have them.
const CACHES: [&str; 3] = ["32768,8,64", "32768,8,64", "1048576,8,64"];

/// The sets of I1 and D1: by these, references are taken together.
const SETS: u64 = 64;

fn main() {
    let Some(mut driver) = Driver::new("sim") else {
        return;
    };
    let sequential = (0..LENGTH as u64).map(|index| Reference::load(index * 8 % (1 << 20), 8));
    level(&mut driver, "LRU of 8 ways, in a row", sequential.collect());
    for (name, bytes) in [
        ("LRU of 8 ways, random hits", 16 << 10),
        ("LRU of 8 ways, random, half of them misses", 64 << 10),
        ("LRU of 8 ways, random misses", 1 << 20),
    ] {
        level(&mut driver, name, random(bytes));
    }
    if !valgrind::is_there() {
        driver.say("cachegrind ignored: there is no valgrind");
    } else if let Err(error) = beside_cachegrind(&mut driver) {
        driver.say(&format!("cachegrind ignored: {error}"));
    }
}

/// Loads of 8 bytes anywhere in `bytes` bytes.
fn random(bytes: usize) -> Vec<Reference> {
    let mut rng = Rng::new(1);
    let mut load = || Reference::load(8 * rng.below(bytes / 8) as u64, 8);
    (0..LENGTH).map(|_| load()).collect()
}

/// Times a trace in a cache of 32 KiB.
fn level(driver: &mut Driver, name: &str, trace: Vec<Reference>) {
    let mut cache = Cache::new(Design::lru(geometry(CACHES[1])));
    let timed = driver.time(name, Some(Throughput::Elements(1)), &mut |references| {
        over(&trace, references, |part| cache.references(part))
    });
    black_box(cache.counters());
    say_rate(driver, name, timed, 1.0);
}

/// Ticks of so many references, the trace again and again.
fn over(trace: &[Reference], references: u64, mut serve: impl FnMut(&[Reference])) -> u64 {
    let began = start();
    let mut left = references as usize;
    while left > 0 {
        let part = &trace[..left.min(trace.len())];
        serve(part);
        left -= part.len();
    }
    stop() - began
}

/// Says the rate of what was timed, each of which was so many references.
fn say_rate(driver: &Driver, name: &str, timed: Timed, references: f64) {
    if let Some(ticks) = timed.ticks {
        let rate = 1e3 * references / driver.rate().nanos(ticks);
        let cycles = timed.cycles.map_or(String::new(), |cycles| {
            format!(", {:.1} core cycles each", cycles / references)
        });
        driver.say(&format!(
            "{name}: {rate:.0} million references a second{cycles}"
        ));
    }
}

/// Compares the rate, and the counts, of three caches with cachegrind's on the same program, and
/// of one level in every associativity with a run of cachegrind for each.
fn beside_cachegrind(driver: &mut Driver) -> io::Result<()> {
    let test = std::env::args().any(|argument| argument == "--test");
    let (rounds, more) = if test { (1, 2) } else { (60, 4000) };
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-cachegrind");
    let short = Program::build(&place, rounds)?;
    let trace = short.trace()?;
    let mut whole = hierarchy();
    whole.references(&trace);
    let theirs = short.counts(CACHES)?;
    assert_eq!(counts(&whole), theirs, "not cachegrind's counts");
    let runs = Runs::of(64, SETS, trace.iter().copied()).map_err(io::Error::other)?;
    let mut whole = hierarchy();
    whole.runs(&runs).map_err(io::Error::other)?;
    assert_eq!(counts(&whole), theirs, "not cachegrind's counts, by runs");
    let references = trace.len() as f64;
    driver.say(&format!(
        "I1, D1 and LL count what cachegrind counts of {references} references, one by one and as \
         {} runs",
        runs.len()
    ));

    let long = Program::build(&place, rounds + more)?;
    let of_more = references * more as f64 / rounds as f64;
    let theirs = Theirs {
        whole: seconds(&short, Tool::Cachegrind)?.as_nanos() as f64 / references,
        running: beyond(&short, &long, Tool::Cachegrind)? / of_more,
        translating: beyond(&short, &long, Tool::None)? / of_more,
    };
    driver.say(&theirs.to_string());

    let mut ours = hierarchy();
    let each = |references: f64| Some(Throughput::Elements(references as u64));
    let name = "I1, D1 and LL on a program's trace";
    let timed = driver.time(name, each(1.0), &mut |references| {
        over(&trace, references, |part| ours.references(part))
    });
    theirs.beside(driver, name, timed, 1.0, 1.0);

    let mut ours = hierarchy();
    let name = "the same as runs";
    let timed = driver.time(name, each(references), &mut |rounds| {
        laps(rounds, || ours.runs(&runs).expect("nothing but runs"))
    });
    theirs.beside(driver, name, timed, references, 1.0);
    let timed = driver.time("taking runs together", each(references), &mut |rounds| {
        laps(rounds, || {
            black_box(Runs::of(64, SETS, trace.iter().copied()).expect("a line"));
        })
    });
    say_rate(driver, "taking runs together", timed, references);

    every_associativity(driver, &short, &theirs, &runs)
}

/// The largest number of ways that is simulated in one pass.
const WAYS: usize = 16;

/// D1 of 64 sets with 1 to 16 ways, in one pass and in 16 runs of cachegrind.
fn every_associativity(
    driver: &mut Driver,
    program: &Program,
    theirs: &Theirs,
    runs: &Runs,
) -> io::Result<()> {
    let new = || Stack::new(64, 64, WAYS as u64).map_err(io::Error::other);
    let mut stack = new()?;
    stack.data(runs).map_err(io::Error::other)?;
    for ways in 1..=WAYS {
        let d1 = format!("{},{ways},64", 4096 * ways);
        let [.., misses_of_reads, _, _, misses_of_writes, _] =
            program.counts([CACHES[0], &d1, CACHES[2]])?;
        assert_eq!(
            stack.misses(ways),
            misses_of_reads + misses_of_writes,
            "not cachegrind's misses with {ways} ways"
        );
    }
    driver.say(&format!(
        "D1 of 64 sets misses what cachegrind counts with 1 to {WAYS} ways; the pass serves the {} of \
         {} references that are no fetches, cachegrind's runs all of them in three caches",
        stack.references(),
        runs.references()
    ));
    let mut stack = new()?;
    let name = "D1 of 1 to 16 ways in one pass";
    let simulated = Some(Throughput::Elements(runs.references() * WAYS as u64));
    let timed = driver.time(name, simulated, &mut |rounds| {
        laps(rounds, || stack.data(runs).expect("lines as long"))
    });
    // A run of cachegrind has instructions to simulate as well, and so has its count of
    // references: what is compared is the time until 16 caches are known.
    theirs.beside(driver, name, timed, runs.references() as f64, WAYS as f64);
    Ok(())
}

/// Nanoseconds of cachegrind a reference.
struct Theirs {
    /// All of a short run.
    whole: f64,
    /// What a longer run takes more.
    running: f64,
    /// The same under valgrind's translator alone.
    translating: f64,
}

impl std::fmt::Display for Theirs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = |nanos: f64| 1e3 / nanos;
        write!(
            f,
            "cachegrind, million references a second: {:.0} in all of a run, {:.0} without its \
             start, {:.0} of simulation alone (less valgrind's translation)",
            rate(self.whole),
            rate(self.running),
            rate(self.simulating())
        )
    }
}

impl Theirs {
    fn simulating(&self) -> f64 {
        self.running - self.translating
    }

    /// Says how a time of ours compares, for a pass over `references` that simulates so many
    /// caches, for each of which cachegrind runs once.
    fn beside(&self, driver: &Driver, name: &str, timed: Timed, references: f64, caches: f64) {
        say_rate(driver, name, timed, references * caches);
        let Some(ticks) = timed.ticks else { return };
        let ours = driver.rate().nanos(ticks) / (references * caches);
        driver.say(&format!(
            "{name}: {:.2} times cachegrind's rate in all of its run, {:.2} times without its \
             start, {:.2} times its simulation alone",
            self.whole / ours,
            self.running / ours,
            self.simulating() / ours
        ));
    }
}

/// Ticks of so many laps.
fn laps(laps: u64, mut lap: impl FnMut()) -> u64 {
    let began = start();
    for _ in 0..laps {
        lap();
    }
    stop() - began
}

fn hierarchy() -> Hierarchy {
    let [i1, d1, ll] = CACHES.map(geometry);
    Hierarchy::new(&HierarchyDesign::cachegrind(i1, d1, ll)).expect("lines of one size")
}

fn geometry(text: &str) -> Geometry {
    let mut numbers = text
        .split(',')
        .map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("three numbers");
    Geometry::new(next(), next(), next()).expect("a cache")
}

/// In cachegrind's order.
fn counts(hierarchy: &Hierarchy) -> [u64; 9] {
    let fetches = hierarchy.instructions().expect("I1").counters().fetches;
    let (first, last) = (hierarchy.counters(0), hierarchy.counters(1));
    [
        fetches.total(),
        fetches.misses,
        last.fetches.misses,
        first.reads.total(),
        first.reads.misses,
        last.reads.misses,
        first.writes.total(),
        first.writes.misses,
        last.writes.misses,
    ]
}

/// What runs a program.
#[derive(Clone, Copy)]
enum Tool {
    Cachegrind,
    /// Valgrind's translator alone.
    None,
}

/// How long a tool takes: the best of three.
fn seconds(program: &Program, tool: Tool) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        match tool {
            Tool::Cachegrind => drop(program.counts(CACHES)?),
            Tool::None => program.translated()?,
        }
        best = best.min(began.elapsed());
    }
    Ok(best)
}

/// Nanoseconds that a tool takes longer for a longer program.
fn beyond(short: &Program, long: &Program, tool: Tool) -> io::Result<f64> {
    let (short, long) = (seconds(short, tool)?, seconds(long, tool)?);
    Ok(long.saturating_sub(short).as_nanos() as f64)
}
