//! The simulator: references per second in one level of 8 ways, and in three caches, compared with cachegrind
//! on the same traces if valgrind is installed. The traces are of a loop with many misses and of an
//! assembler.
//!
//! Three rates of cachegrind are compared with ours: the whole run, which starts valgrind and executes the
//! program; the run without its start, as the difference of a long and a short run; and the simulation alone,
//! which is the run without its start less the time of valgrind's translator without a tool. cachegrind's
//! times are CPU times. Our rate is printed a second time from the sum of the fastest laps of short parts, so
//! that other programs on the machine change it little.
//!
//! A rate counts the references that are served. The time for reading a trace is not included: cachegrind reads
//! none. So each part of a trace is copied to one buffer before it is timed, and the simulation does not wait
//! for memory. `linefill simulate` decodes a trace into such a buffer.

use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::driver::{Driver, Timed, around, is_test};
use crate::valgrind::{Program, counts, geometry, hierarchy};
use criterion::Throughput;
use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Op, Reference, Stack};
use linefill::time::{start, stop};

/// References in a generated trace: too many for a branch predictor to learn.
const LENGTH: usize = 1 << 18;

/// I1, D1 and LL, in the format of cachegrind's options.
const CACHES: [&str; 3] = ["32768,8,64", "32768,8,64", "1048576,8,64"];

pub fn main(driver: &mut Driver) {
    let sequential = (0..LENGTH as u64).map(|index| Reference::load(index * 8 % (1 << 20), 8));
    level(driver, "LRU of 8 ways, in a row", sequential.collect());
    for (name, bytes) in [
        ("LRU of 8 ways, random hits", 16 << 10),
        ("LRU of 8 ways, random, half of them misses", 64 << 10),
        ("LRU of 8 ways, random misses", 1 << 20),
    ] {
        level(driver, name, random(bytes));
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        driver.say("cachegrind ignored: there is no valgrind");
    } else if let Err(error) = beside_cachegrind(driver) {
        driver.say(&format!("cachegrind ignored: {error}"));
    }
}

/// Loads of 8 bytes at random addresses in `bytes` bytes.
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
    say_rate(driver, name, timed, 1.0);
    if timed.ticks.is_some() {
        let ticks = quickest(&trace, |part| cache.references(part)) as f64;
        let rate = 1e3 * trace.len() as f64 / driver.rate().nanos(ticks);
        driver.say(&format!(
            "{name}: {rate:.0} million per second in the quickest laps of its parts"
        ));
    }
    black_box(cache.counters());
}

/// The sum of the ticks of all parts of a trace, for each part in its fastest lap.
fn quickest(trace: &[Reference], mut serve: impl FnMut(&[Reference])) -> u64 {
    let mut best = vec![u64::MAX; trace.len().div_ceil(PART)];
    for _ in 0..LAPS {
        let mut best = best.iter_mut();
        parts(trace, trace.len(), &mut serve, |ticks| {
            let best = best.next().expect("as many parts as before");
            *best = ticks.min(*best);
        });
    }
    best.iter().sum()
}

/// The number of references of a part, as many as `linefill simulate` serves at a time. They take about 30 us:
/// short enough that a core that is shared with other programs runs some of the parts undisturbed.
const PART: usize = 1 << 14;

/// How often each part is served.
const LAPS: usize = 20;

/// The ticks for a number of references; the trace repeats.
fn over(trace: &[Reference], references: u64, mut serve: impl FnMut(&[Reference])) -> u64 {
    let mut all = 0;
    parts(trace, references as usize, &mut serve, |ticks| all += ticks);
    all
}

/// Serves a number of references from a buffer; the trace repeats. Calls `took` with the ticks of each part.
fn parts(
    trace: &[Reference],
    mut references: usize,
    serve: &mut impl FnMut(&[Reference]),
    mut took: impl FnMut(u64),
) {
    let mut buffer = Vec::with_capacity(PART);
    for part in trace.chunks(PART).cycle() {
        if references == 0 {
            return;
        }
        buffer.clear();
        buffer.extend_from_slice(&part[..references.min(part.len())]);
        let began = start();
        serve(&buffer);
        took(stop() - began);
        references -= buffer.len();
    }
}

/// Prints the rate of timed code, if each operation is `references` references.
fn say_rate(driver: &Driver, name: &str, timed: Timed, references: f64) {
    if let Some(ticks) = timed.ticks {
        let rate = 1e3 * references / driver.rate().nanos(ticks);
        let cycles = timed.cycles.map_or(String::new(), |cycles| {
            format!(", {:.1} core cycles each", cycles / references)
        });
        driver.say(&format!("{name}: {rate:.0} million references per second{cycles}"));
    }
}

/// Compares the rates and the counts of three caches with cachegrind's on the same program, and those of one
/// level in every associativity with one run of cachegrind each.
fn beside_cachegrind(driver: &mut Driver) -> io::Result<()> {
    let test = is_test();
    let (rounds, more) = if test { (1, 2) } else { (60, 4000) };
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-cachegrind");
    let short = Program::build(&place, rounds)?;
    let trace = short.trace()?;
    let mut whole = hierarchy(CACHES);
    whole.references(&trace);
    let counted = short.counts(CACHES)?;
    assert_eq!(counts(&whole), counted, "not cachegrind's counts");
    driver.say("I1, D1 and LL count what cachegrind counts");
    let long = Program::build(&place, rounds + more)?;
    let theirs = Theirs::of(&short, &long, more as f64 / rounds as f64, trace.len())?;
    beside_program(driver, "a loop", &trace, &theirs);
    every_associativity(driver, &short, &theirs, &trace)?;

    let (functions, more) = if test { (1, 1) } else { (24, 1200) };
    let few = Program::assembler(&place, functions)?;
    let trace = few.trace()?;
    let many = Program::assembler(&place, functions + more)?;
    // The work of an assembler is not proportional to its input, so its references are counted.
    let of = |program: &Program| -> io::Result<f64> {
        let [instructions, _, _, reads, _, _, writes, ..] = program.counts(CACHES)?;
        Ok((instructions + reads + writes) as f64)
    };
    let (few_references, many_references) = (of(&few)?, of(&many)?);
    let times = (many_references - few_references) / few_references;
    let theirs = Theirs::of(&few, &many, times, trace.len())?;
    beside_program(driver, "an assembler", &trace, &theirs);
    Ok(())
}

/// Times three caches on a program's trace, against cachegrind.
fn beside_program(driver: &mut Driver, program: &str, trace: &[Reference], theirs: &Theirs) {
    let references = trace.len() as f64;
    driver.say(&format!("{program}, {references} references: {theirs}"));

    let mut ours = hierarchy(CACHES);
    let name = format!("I1, D1 and LL, {program}");
    let timed = driver.time(&name, Some(Throughput::Elements(1)), &mut |references| {
        over(trace, references, |part| ours.references(part))
    });
    theirs.beside(driver, &name, timed);
    if timed.ticks.is_some() {
        let ticks = quickest(trace, |part| ours.references(part)) as f64;
        let each = driver.rate().nanos(ticks) / references;
        driver.say(&format!(
            "{name}, the quickest laps of its parts: {:.0} million references per second, {:.2} \
             times cachegrind's simulation alone",
            1e3 / each,
            theirs.simulating() / each
        ));
    }
}

/// The largest number of ways that one pass simulates.
const WAYS: usize = 16;

/// D1 of 64 sets with 1 to 16 ways, in one pass and in 16 runs of cachegrind.
fn every_associativity(
    driver: &mut Driver,
    program: &Program,
    theirs: &Theirs,
    trace: &[Reference],
) -> io::Result<()> {
    let new = || Stack::new(64, 64, WAYS as u64).map_err(io::Error::other);
    let data = trace.iter().copied();
    let data: Vec<Reference> = data.filter(|of| of.op != Op::Fetch).collect();
    let serve = |stack: &mut Stack| {
        for &reference in &data {
            stack.reference(reference);
        }
    };
    let mut stack = new()?;
    serve(&mut stack);
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
    let served = stack.references();
    driver.say(&format!(
        "D1 of 64 sets misses what cachegrind counts with 1 to {WAYS} ways; the pass serves the \
         {served} of {} references that are no fetches, cachegrind's runs all of them in three \
         caches",
        trace.len()
    ));
    let mut stack = new()?;
    let name = "D1 of 1 to 16 ways in one pass";
    let timed = driver.time(name, Some(Throughput::Elements(served)), &mut |rounds| {
        around(rounds, || serve(&mut stack))
    });
    say_rate(driver, name, timed, served as f64);
    if let Some(ticks) = timed.ticks {
        let runs = WAYS as f64 * trace.len() as f64 * theirs.simulating();
        let times = runs / driver.rate().nanos(ticks);
        driver.say(&format!(
            "{name}: {WAYS} simulations by cachegrind, of fetches too, take {times:.1} times as \
             long"
        ));
    }
    Ok(())
}

/// The CPU time of cachegrind per reference, in nanoseconds.
struct Theirs {
    /// The whole of a short run.
    whole: f64,
    /// The additional time of a longer run.
    running: f64,
    /// The additional time of a longer run under valgrind's translator alone.
    translating: f64,
}

impl std::fmt::Display for Theirs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = |nanos: f64| 1e3 / nanos;
        write!(
            f,
            "cachegrind, million references per second: {:.0} in all of a run, {:.0} without its \
             start, {:.0} of simulation alone (less valgrind's translation)",
            rate(self.whole),
            rate(self.running),
            rate(self.simulating())
        )
    }
}

impl Theirs {
    /// The times from a short run with `references` references, and a long run with `times` as many
    /// additional references.
    fn of(short: &Program, long: &Program, times: f64, references: usize) -> io::Result<Self> {
        let of_more = times * references as f64;
        Ok(Theirs {
            whole: seconds(short, Tool::Cachegrind)?.as_nanos() as f64 / references as f64,
            running: beyond(short, long, Tool::Cachegrind)? / of_more,
            translating: beyond(short, long, Tool::None)? / of_more,
        })
    }

    fn simulating(&self) -> f64 {
        self.running - self.translating
    }

    /// Prints how our time for a reference compares.
    fn beside(&self, driver: &Driver, name: &str, timed: Timed) {
        say_rate(driver, name, timed, 1.0);
        let Some(ticks) = timed.ticks else { return };
        let ours = driver.rate().nanos(ticks);
        driver.say(&format!(
            "{name}: {:.2} times cachegrind's rate in all of its run, {:.2} times without its \
             start, {:.2} times its simulation alone",
            self.whole / ours,
            self.running / ours,
            self.simulating() / ours
        ));
    }
}

/// The tool that runs a program.
#[derive(Clone, Copy)]
enum Tool {
    Cachegrind,
    /// Valgrind's translator alone.
    None,
}

/// The CPU time of a tool: the minimum of three runs.
fn seconds(program: &Program, tool: Tool) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let before = computed();
        match tool {
            Tool::Cachegrind => drop(program.counts(CACHES)?),
            Tool::None => program.translated()?,
        }
        best = best.min(computed().saturating_sub(before));
    }
    Ok(best)
}

/// The CPU time of all child processes so far.
fn computed() -> Duration {
    let mut usage = MaybeUninit::uninit();
    // SAFETY: `usage` is a valid place for the `rusage` that the call writes.
    let status = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage: {}", io::Error::last_os_error());
    // SAFETY: the call succeeded, so it wrote the whole `rusage`.
    let usage: libc::rusage = unsafe { usage.assume_init() };
    [usage.ru_utime, usage.ru_stime]
        .map(|time| Duration::new(time.tv_sec as u64, 1000 * time.tv_usec as u32))
        .into_iter()
        .sum()
}

/// The additional CPU time of a tool for the longer program.
fn beyond(short: &Program, long: &Program, tool: Tool) -> io::Result<f64> {
    let (short, long) = (seconds(short, tool)?, seconds(long, tool)?);
    Ok(long.saturating_sub(short).as_nanos() as f64)
}
