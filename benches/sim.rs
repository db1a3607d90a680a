//! The simulator: references a second in one level of 8 ways, and in three caches beside
//! cachegrind on the same trace, where there is a valgrind.

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
use linefill::sim::{Cache, Design, Geometry, Hierarchy, HierarchyDesign, Reference};
use linefill::time::{start, stop};
use valgrind::Program;

/// References of a trace that is made here: enough that no branch predictor learns it.
const LENGTH: usize = 1 << 18;

/// I1, D1 and LL, as cachegrind's options have them.
const CACHES: [&str; 3] = ["32768,8,64", "32768,8,64", "1048576,8,64"];

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
    say_rate(driver, name, timed);
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

fn say_rate(driver: &Driver, name: &str, timed: Timed) {
    if let Some(ticks) = timed.ticks {
        let rate = 1e3 / driver.rate().nanos(ticks);
        let cycles = timed.cycles.map_or(String::new(), |cycles| {
            format!(", {cycles:.1} core cycles each")
        });
        driver.say(&format!(
            "{name}: {rate:.0} million references a second{cycles}"
        ));
    }
}

/// Compares the rate, and the counts, of three caches with cachegrind's on the same program.
fn beside_cachegrind(driver: &mut Driver) -> io::Result<()> {
    let test = std::env::args().any(|argument| argument == "--test");
    let (rounds, more) = if test { (1, 2) } else { (60, 4000) };
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-cachegrind");
    let program = Program::build(&place, rounds)?;
    let trace = program.trace()?;
    let mut whole = hierarchy();
    whole.references(&trace);
    assert_eq!(
        counts(&whole),
        program.counts(CACHES)?,
        "not cachegrind's counts"
    );
    driver.say(&format!(
        "I1, D1 and LL count what cachegrind counts of {} references",
        trace.len()
    ));

    let mut ours = hierarchy();
    let name = "I1, D1 and LL on a program's trace";
    let timed = driver.time(name, Some(Throughput::Elements(1)), &mut |references| {
        over(&trace, references, |part| ours.references(part))
    });
    say_rate(driver, name, timed);
    let Some(ticks) = timed.ticks else {
        return Ok(());
    };
    let ours = driver.rate().nanos(ticks);
    let long = Program::build(&place, rounds + more)?;
    let (short, long) = (seconds(&program)?, seconds(&long)?);
    let beside = |what: &str, time: Duration, references: f64| {
        let theirs = time.as_nanos() as f64 / references;
        driver.say(&format!(
            "cachegrind, {what}: {:.0} million references a second; ours are {:.2} times as many",
            1e3 / theirs,
            theirs / ours
        ));
    };
    let references = trace.len() as f64;
    beside("all of its run", short, references);
    let of_more = references * more as f64 / rounds as f64;
    beside("without its start", long.saturating_sub(short), of_more);
    Ok(())
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

/// How long cachegrind takes: the best of three.
fn seconds(program: &Program) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        program.counts(CACHES)?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}
