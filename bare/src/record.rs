//! The lines of the lab's record (`src/lab/record.rs` of the library), borrowed where the lab's
//! own types allocate. A test reads what comes out with the lab's types.

use linefill::cpu::{Cache, Caches, Feature, Features, Identity, Tlb, Tlbs};
use linefill::measure::{Ended, Sample};
use serde::{Serialize, Serializer};

use crate::counters::{COUNTED, Count, Counting};
use crate::walk::Walked;

/// The version of the format that these lines follow.
const FORMAT: u32 = 1;

/// The experiment and the series under which the lab records the same walk: its ladder of
/// working sets, from which it derives the ranges of the caches.
const EXPERIMENT: &str = "machine";
const SERIES: &str = "random walk, one line an element";

/// The first line.
#[derive(Serialize)]
pub struct Header<'a> {
    kind: &'static str,
    format: u32,
    linefill: &'static str,
    revision: Option<&'static str>,
    rustc: &'static str,
    started: u64,
    cpu: Cpu<'a>,
    os: Option<&'static str>,
    hypervisor: Option<&'a str>,
    memory: Option<u64>,
    pinned: Option<usize>,
    tick_hz: f64,
    core_per_tick: Option<f64>,
    seed: u64,
    profile: &'static str,
    pages: Option<&'static str>,
    selection: [&'static str; 1],
    masked: &'static str,
    largest: u64,
    load_to_use: Option<u32>,
    counting: [Counting; COUNTED.len()],
    notes: [&'static str; 2],
}

/// What decides a run, and the clock that times it.
pub struct Run {
    /// Ticks of the time-stamp counter a second.
    pub tick_hz: f64,
    /// Core cycles per tick.
    pub core_per_tick: Option<f64>,
    /// Decides the rings.
    pub seed: u64,
    /// The largest working set in bytes.
    pub largest: usize,
    /// The ring that the kernels run in.
    pub ring: u16,
}

impl<'a> Header<'a> {
    /// Describes this image on this CPU. Nothing here knows the date: `started` is 0.
    pub fn new(identity: &'a Identity, run: &Run, counting: [Counting; COUNTED.len()]) -> Self {
        Self {
            kind: "header",
            format: FORMAT,
            linefill: env!("CARGO_PKG_VERSION"),
            revision: None,
            rustc: env!("LINEFILL_RUSTC"),
            started: 0,
            cpu: Cpu::of(identity),
            os: None,
            hypervisor: identity.hypervisor_name(),
            memory: None,
            pinned: None,
            tick_hz: run.tick_hz,
            core_per_tick: run.core_per_tick,
            seed: run.seed,
            profile: "bare",
            pages: None,
            selection: [EXPERIMENT],
            masked: "",
            largest: run.largest as u64,
            load_to_use: identity.load_to_use(),
            counting,
            notes: [
                match run.ring {
                    0 => "no operating system: ring 0, interrupts off",
                    _ => "no operating system: ring 3, interrupts off",
                },
                "the date of the run is not known",
            ],
        }
    }
}

#[derive(Serialize)]
struct Cpu<'a> {
    vendor: &'static str,
    brand: &'a str,
    family: u32,
    model: u32,
    stepping: u32,
    microarchitecture: Option<&'static str>,
    core: Option<&'static str>,
    #[serde(serialize_with = "features")]
    features: Features,
    #[serde(serialize_with = "caches")]
    caches: Caches,
    #[serde(serialize_with = "tlbs")]
    tlbs: Tlbs,
}

impl<'a> Cpu<'a> {
    fn of(identity: &'a Identity) -> Self {
        Self {
            vendor: identity.vendor.name(),
            brand: &identity.brand,
            family: identity.family.into(),
            model: identity.model.into(),
            stepping: identity.stepping.into(),
            microarchitecture: identity.core().map(|_| identity.microarch()),
            core: identity.core().map(|core| core.name),
            features: Features::detect(),
            caches: Caches::detect(),
            tlbs: Tlbs::detect(),
        }
    }
}

fn features<S: Serializer>(features: &Features, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(features.iter().map(Feature::name))
}

fn caches<S: Serializer>(caches: &Caches, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(caches.iter().map(CacheLine::of))
}

#[derive(Serialize)]
struct CacheLine {
    level: u8,
    holds: &'static str,
    bytes: u64,
    ways: u32,
    line: u32,
    sets: u64,
    fully_associative: bool,
    shared_by: Option<u32>,
    inclusive: Option<bool>,
}

impl CacheLine {
    fn of(cache: &Cache) -> Self {
        Self {
            level: cache.level,
            holds: cache.kind.name(),
            bytes: cache.size,
            ways: cache.ways.filter(|_| !cache.fully_associative).unwrap_or(0),
            line: cache.line,
            sets: cache.sets().unwrap_or(0),
            fully_associative: cache.fully_associative,
            shared_by: cache.shared_by,
            inclusive: cache.inclusive,
        }
    }
}

fn tlbs<S: Serializer>(tlbs: &Tlbs, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tlbs.iter().map(TlbLine::of))
}

#[derive(Serialize)]
struct TlbLine<'a> {
    level: u8,
    holds: &'static str,
    #[serde(serialize_with = "page_sizes")]
    pages: &'a Tlb,
    entries: u32,
    ways: u32,
}

impl<'a> TlbLine<'a> {
    fn of(tlb: &'a Tlb) -> Self {
        Self {
            level: tlb.level,
            holds: tlb.kind.name(),
            pages: tlb,
            entries: tlb.entries,
            ways: tlb.ways.unwrap_or(0),
        }
    }
}

fn page_sizes<S: Serializer>(tlb: &&Tlb, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tlb.pages.iter().map(|page| page.bytes()))
}

/// A timed point.
#[derive(Serialize)]
pub struct Point<'a> {
    kind: &'static str,
    experiment: &'static str,
    series: &'static str,
    x: f64,
    timed: Timed<'a>,
}

#[derive(Serialize)]
struct Timed<'a> {
    median: f64,
    mad: f64,
    min: f64,
    lo: f64,
    hi: f64,
    n: usize,
    core_per_tick: Option<f64>,
    operations: u64,
    work: [u32; 4],
    pages: &'static str,
    #[serde(serialize_with = "flags")]
    flags: [Option<&'static str>; 2],
    #[serde(serialize_with = "counts")]
    counts: [Option<Count>; COUNTED.len()],
    #[serde(serialize_with = "samples")]
    samples: &'a [Sample],
}

impl<'a> Point<'a> {
    /// The point at a working set of `bytes`.
    pub fn new(bytes: usize, walked: &Walked<'a>) -> Self {
        let (outcome, work) = (&walked.outcome, walked.work);
        let ticks = outcome.ticks;
        let noisy = ticks.interval.is_noisy();
        Self {
            kind: "point",
            experiment: EXPERIMENT,
            series: SERIES,
            x: bytes as f64,
            timed: Timed {
                median: ticks.median,
                mad: ticks.mad,
                min: ticks.min,
                lo: ticks.interval.lo,
                hi: ticks.interval.hi,
                n: ticks.n,
                core_per_tick: outcome.core_per_tick,
                operations: outcome.operations,
                work: [work.loads, work.stores, work.bytes_read, work.bytes_written],
                pages: "2 MiB",
                flags: [noisy.then_some("noisy"), ended(outcome.ended)],
                counts: walked.counts,
                samples: walked.samples,
            },
        }
    }
}

fn ended(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Precise => None,
        Ended::Budget => Some("budget"),
        Ended::Full => Some("full"),
        Ended::Stopped => Some("stopped"),
    }
}

fn flags<S: Serializer>(
    flags: &[Option<&'static str>; 2],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(flags.iter().flatten())
}

/// Those that something counted.
fn counts<S: Serializer>(
    counts: &[Option<Count>; COUNTED.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(counts.iter().flatten())
}

fn samples<S: Serializer>(samples: &[Sample], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(samples.iter().map(|sample| {
        let disturbed = u64::from(sample.disturbed);
        [sample.short, sample.long, sample.yardstick, disturbed]
    }))
}

/// The last line.
#[derive(Serialize)]
pub struct End {
    kind: &'static str,
    seconds: f64,
    interrupted: bool,
}

impl End {
    /// The end of a run of so many seconds.
    pub fn new(seconds: f64) -> Self {
        Self {
            kind: "end",
            seconds,
            interrupted: false,
        }
    }
}
