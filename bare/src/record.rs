//! The lines of the lab's record, with the library's types.

use linefill::cpu::{Caches, Feature, Features, Identity, Tlb, Tlbs, tsc_hz};
use linefill::record::{
    BARE, CacheLine, CpuLine, EndLine, FORMAT, Header, LADDER, Line, MACHINE, RawPoint, RawTimed,
    TlbLine, ended_flag, noisy_flag, sample_row,
};
use serde::{Serialize, Serializer};

use crate::counters::{COUNTED, Counting};
use crate::walk::Walked;

/// A list whose items are generated while it is written.
struct List<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The parameters of a run, and the clock that times it.
pub struct Run {
    /// Ticks of the time-stamp counter per second.
    pub tick_hz: f64,
    /// Core cycles per tick.
    pub core_per_tick: Option<f64>,
    /// The seed of the rings.
    pub seed: u64,
    /// The largest working set in bytes.
    pub largest: usize,
    /// Seconds since 1970 at its start, or 0 if the date is unknown.
    pub started: u64,
    /// Notes for the reader of the record.
    pub notes: &'static [&'static str],
}

/// The first line: describes this image and this CPU.
pub fn header<'a>(
    identity: &'a Identity,
    run: &Run,
    counting: [Counting; COUNTED.len()],
) -> impl Serialize + use<'a> {
    let (features, caches, tlbs) = (Features::detect(), Caches::detect(), Tlbs::detect());
    Line::<_, (), ()>::Header(Header {
        format: FORMAT,
        linefill: env!("CARGO_PKG_VERSION"),
        revision: None,
        rustc: env!("LINEFILL_RUSTC"),
        started: run.started,
        resumed: None,
        earlier: 0.0,
        cpu: CpuLine {
            vendor: identity.vendor.name(),
            brand: &*identity.brand,
            family: identity.family.into(),
            model: identity.model.into(),
            stepping: identity.stepping.into(),
            microarchitecture: identity.core().map(|_| identity.microarch()),
            core: identity.core().map(|core| core.name),
            features: List(move || features.iter().map(Feature::name)),
            caches: List(move || {
                (0..caches.len()).map(move |index| CacheLine::<&str>::from(&caches[index]))
            }),
            tlbs: List(move || (0..tlbs.len()).map(move |index| tlb(tlbs[index]))),
        },
        os: None,
        host: Some(BARE),
        hypervisor: identity.hypervisor_name(),
        memory: None,
        pinned: None,
        tick_hz: run.tick_hz,
        stated_tick_hz: tsc_hz().map(|hz| hz as f64),
        core_per_tick: run.core_per_tick,
        seed: run.seed,
        profile: BARE,
        pages: None,
        selection: &[MACHINE][..],
        masked: "",
        largest: run.largest as u64,
        load_to_use: identity.load_to_use(),
        ports: identity.ports(),
        counting,
        #[cfg(feature = "experiments")]
        locations: alloc::vec::Vec::new(),
        #[cfg(feature = "experiments")]
        performance: alloc::vec::Vec::new(),
        #[cfg(feature = "experiments")]
        passes: 0,
        #[cfg(feature = "experiments")]
        budget: None,
        #[cfg(feature = "experiments")]
        watch: None,
        placement: None,
        #[cfg(feature = "experiments")]
        nodes: alloc::vec::Vec::new(),
        node: None,
        #[cfg(feature = "experiments")]
        kernel_caches: alloc::vec::Vec::new(),
        #[cfg(feature = "experiments")]
        isolation: None,
        #[cfg(feature = "experiments")]
        settings: alloc::vec::Vec::new(),
        #[cfg(feature = "experiments")]
        prefetchers_off: None,
        prefetchers: None,
        notes: run.notes,
    })
}

fn tlb(tlb: Tlb) -> TlbLine<&'static str, impl Serialize> {
    TlbLine {
        level: tlb.level,
        holds: tlb.kind.name(),
        pages: List(move || tlb.pages.iter().map(|page| page.bytes())),
        entries: tlb.entries,
        ways: tlb.ways.unwrap_or(0),
    }
}

/// The point for a working set of `bytes`.
pub fn point<'a>(bytes: usize, walked: &'a Walked<'_>) -> impl Serialize + use<'a> {
    let (outcome, work) = (&walked.outcome, walked.work);
    let ticks = outcome.ticks;
    let noisy = noisy_flag(ticks.interval);
    let ended = ended_flag(outcome.ended);
    let counts = walked.counts;
    let samples = walked.samples;
    Line::<(), _, ()>::Point(RawPoint {
        experiment: MACHINE,
        series: LADDER,
        x: bytes as f64,
        pass: 0,
        timed: Some(RawTimed {
            median: ticks.median,
            mad: ticks.mad,
            min: ticks.min,
            lo: ticks.interval.lo,
            hi: ticks.interval.hi,
            n: ticks.n,
            core_per_tick: outcome.core_per_tick,
            operations: outcome.operations,
            work: [work.loads, work.stores, work.bytes_read, work.bytes_written],
            flops: work.flops,
            instructions: work.instructions,
            pages: "2 MiB",
            thread_stats: None::<()>,
            flags: List(move || noisy.into_iter().chain(ended)),
            counts: Some(List(move || counts.into_iter().flatten())),
            #[cfg(feature = "experiments")]
            runs: None,
            #[cfg(feature = "experiments")]
            interrupts: None,
            samples: List(move || samples.iter().map(sample_row)),
        }),
        counted: None,
        untestable: None,
    })
}

/// The last line of a run that took `seconds`.
pub fn end(seconds: f64) -> impl Serialize {
    Line::<(), (), ()>::End(EndLine { seconds, interrupted: false })
}
