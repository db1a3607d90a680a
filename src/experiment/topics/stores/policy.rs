//! Drepper 3.3.3, write behaviour: the write policies as a program sees them.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::Counted;
use crate::experiment::topics::stores::evict::{Evict, LineState, ReloadSetup, Then};
use crate::kernel::{
    FillLines, FillWay, Kernel, LoadLines, LoadWay, Rewrite, RewriteWay, Vector, Work,
};
use crate::measure::Shot;
use crate::sim::{Cache, Design, Geometry, Reference, WriteHit, WriteMiss};
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[POLICIES];

const BACK: &str = "write-back: plain stores";
const THROUGH: &str = "write-through: each store followed by clwb";
const COMBINING: &str = "write-combining: non-temporal stores";
const COMBINING_ABSENT: &str = "write-combining: non-temporal stores to a line in no cache";
const UNCACHEABLE: &str = "uncacheable";
const ABSENT: &str = "a line in no cache";

/// Places on the axis: repeated stores to a word, a load of a stored line, reading back many lines.
const AGAIN: f64 = 0.0;
const RELOAD: f64 = 1.0;
const READ_BACK: f64 = 2.0;

const POLICIES: Experiment = Experiment {
    id: "D22",
    name: "drepper-write-policies",
    title: "Write-back, write-through, write-combining",
    question: "What does a store cost under each write policy, and where is the line afterwards?",
    source: "Drepper 3.3.3, on write-through, write-back, write-combining and uncacheable memory",
    seen: &[
        seen("Skylake", "On server parts, which have clwb, clwb evicts the line."),
        seen(
            "Zen 4",
            "clwb keeps the line, at about the distance of the last level. Non-temporal stores \
             evict a line that they find in L1d.",
        ),
        seen("Zen 5", "Non-temporal stores leave a line that they find in L1d there."),
    ],
    about: "Ordinary memory is write-back, and a program cannot choose another type. It can \
            imitate two other types. A `clwb` after each store resembles write-through: each \
            `clwb` waits until the one before has reached the memory controller. Non-temporal \
            stores resemble write-combining. The bars show repeated stores to one word, a load of \
            a line after its store, and reading back many lines. Repeated stores take about a \
            cycle each in a write-back cache, and little more with non-temporal stores as long as \
            they combine in one buffer. Non-temporal stores must not load a line that is in no \
            cache; whether they evict a line that is in L1d is up to the CPU. CPUs also differ in \
            where `clwb` leaves the line.",
    plot: Some(Plot::bars(
        Axis::linear(
            "repeated stores to one word (0), load of a stored line (1), reading back many lines, \
             per line (2)",
        ),
        Axis::log("time"),
        Unit::CoreCycles,
    )),
    cases,
    curves: |e| e.curves_of(|label| SIMULATED.iter().all(|row| row.series != label)),
    events: events::STORES,
    claims: &[
        // Write-through writes to memory at once whenever the line is written; a variable
        // modified over and over makes a lot of traffic. Write-back waits until the line is
        // dropped.
        simulated(
            "D22.1",
            drepper("3.3.3"),
            "1,000 stores to one word cause 1,000 bus writes under write-through and a single bus \
             write, at eviction, under write-back",
            |e| Counted::all(e, &SIMULATED[..2]),
        ),
        // Under write-back a line is marked dirty and goes to memory once, when it is dropped.
        simulated(
            "D22.2",
            drepper("3.3.3"),
            "if every word of a buffer of four times the cache is written, write-back makes an \
             eighth of the bus writes of write-through: one per line of eight words",
            |e| Counted::all(e, &SIMULATED[2..4]),
        ),
        simulated(
            "D22.3",
            ours("the limit of the bus writes that write-back can save"),
            "if one word of each line is written, write-back saves no bus writes",
            |e| Counted::all(e, &SIMULATED[4..]),
        ),
        // Write-through is simple but not very fast, above all for a variable that is modified over
        // and over. clwb after each store resembles it. A factor of 2 is our threshold.
        measured(
            "D22.4",
            drepper("3.3.3"),
            "write-through is slow for a variable that is written repeatedly: a store followed by \
             clwb takes more than 2 times as long as a store under write-back",
            |e| at_least("write-through over write-back", stores(e, THROUGH, BACK), 2.0),
        ),
        // Write-combining combines several writes before the line is written out, which can be
        // significantly faster. Non-temporal stores resemble it.
        measured(
            "D22.5",
            drepper("3.3.3"),
            "write-combining collects stores to one word: a non-temporal store takes less than \
             half as long as a store that is written through",
            |e| at_most("write-combining over write-through", stores(e, COMBINING, THROUGH), 0.5),
        ),
        measured(
            "D22.6",
            ours("the document describes uncacheable memory without saying what it costs"),
            "a store to uncacheable memory takes longer than a store that is combined",
            |e| {
                at_least("uncacheable over write-combining", stores(e, UNCACHEABLE, COMBINING), 1.0)
            },
        ),
        // Under write-back the line stays in the cache and is dropped at some point in the
        // future.
        measured(
            "D22.7",
            drepper("3.3.3"),
            "a line stored under write-back is in a cache when it is loaded again: its load takes \
             less than half as long as a load from memory",
            |e| at_most("share of a miss", reload(e, BACK), 0.5),
        ),
        measured(
            "D22.8",
            ours("whether clwb, which stands in for write-through, leaves the line in a cache"),
            "a line written through by clwb is in a cache when it is loaded again: its load takes \
             less than half as long as a load from memory",
            |e| at_most("share of a miss", reload(e, THROUGH), 0.5),
        ),
        measured(
            "D22.9",
            ours("what happens to a line that the cache holds already: the manuals leave it open"),
            "non-temporal stores evict a line that they find in L1d: its load takes at least 0.8 \
             times as long as a load from memory",
            |e| at_least("share of a miss", reload(e, COMBINING), 0.8),
        )
        .holding("The line has left all caches.")
        .failing(
            "Non-temporal stores write into a line that they find in a cache, and leave it there.",
        ),
        measured(
            "D22.10",
            ours("what happens to many lines in L2"),
            "lines that fill half of L2 take at least 1.5 times as long to read back after \
             non-temporal stores as after cached stores",
            |e| {
                let slower = ratio(e.at(COMBINING, READ_BACK), e.at(BACK, READ_BACK))?;
                at_least("non-temporal over cached, read back", slower, 1.5)
            },
        ),
        // Non-temporal stores write to memory directly and do not read a line to modify it; they
        // avoid polluting the cache. The threshold is ours.
        measured(
            "D22.11",
            drepper("6.1"),
            "non-temporal stores bring no line into a cache: after them, the load of a line that \
             was in no cache takes at least 0.8 times as long as a load from memory",
            |e| at_least("share of a miss", reload(e, COMBINING_ABSENT), 0.8),
        ),
    ],
};

/// The simulated stores: `STORES` stores to one word; stores to every word of a run of `RUN` bytes,
/// four times the cache; stores to one word per line of that run.
const STORES: u64 = 1000;
const RUN: u64 = 4 * (32 << 10);
const WORD: u64 = 8;

static SIMULATED: [Counted; 6] = [
    Counted::exactly("bus writes, one word, write-through", STORES as f64, || {
        bus_writes(WriteHit::Through, (0..STORES).map(|_| 0))
    }),
    Counted::exactly("bus writes, one word, write-back", 1.0, || {
        bus_writes(WriteHit::Back, (0..STORES).map(|_| 0))
    }),
    Counted::exactly("bus writes, every word, write-through", (RUN / WORD) as f64, || {
        bus_writes(WriteHit::Through, (0..RUN).step_by(WORD as usize))
    }),
    Counted::exactly("bus writes, every word, write-back", (RUN / LINE as u64) as f64, || {
        bus_writes(WriteHit::Back, (0..RUN).step_by(WORD as usize))
    }),
    Counted::exactly(
        "bus writes, a word per line, write-through",
        (RUN / LINE as u64) as f64,
        || bus_writes(WriteHit::Through, (0..RUN).step_by(LINE)),
    ),
    Counted::exactly("bus writes, a word per line, write-back", (RUN / LINE as u64) as f64, || {
        bus_writes(WriteHit::Back, (0..RUN).step_by(LINE))
    }),
];

/// Simulates stores to these addresses in a cache of 32 KiB and 8 ways, then loads that evict every
/// line. Returns the bus writes.
fn bus_writes(hit: WriteHit, stores: impl Iterator<Item = u64>) -> Testable<f64> {
    let geometry = Geometry::new(32 << 10, 8, LINE as u64)?;
    let mut cache = Cache::new(Design::lru(geometry).writing(hit, WriteMiss::Allocate));
    for address in stores {
        cache.reference(Reference::store(address, WORD as u32));
    }
    for line in 0..geometry.size() / LINE as u64 {
        cache.reference(Reference::load(2 * RUN + line * LINE as u64, WORD as u32));
    }
    Ok(cache.counters().bus_writes as f64)
}

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let mut cases: Vec<Case> = Counted::cases(&SIMULATED).collect();
    for (series, policy) in [
        (BACK, Policy::WriteBack),
        (THROUGH, Policy::WriteThrough),
        (COMBINING, Policy::WriteCombining),
        (UNCACHEABLE, Policy::Uncacheable),
    ] {
        cases.push(Case::new(series, AGAIN, RewriteSetup { policy }));
    }
    for (series, state, then) in [
        (ABSENT, LineState::Absent, Then::Nothing),
        (BACK, LineState::Dirty, Then::Nothing),
        (THROUGH, LineState::Dirty, Then::Evict(Evict::Clwb)),
        (COMBINING_ABSENT, LineState::Absent, Then::NonTemporalStores),
        (COMBINING, LineState::Clean, Then::NonTemporalStores),
    ] {
        cases.push(Case::new(series, RELOAD, ReloadSetup { state, then, seed }));
    }
    let bytes = (machine.ranges.l2.hi as usize).next_multiple_of(LINE);
    for (series, way) in [(BACK, FillWay::Cached), (COMBINING, FillWay::NonTemporal)] {
        let case = Case::new(series, READ_BACK, ReadBackSetup { bytes, way });
        cases.push(case.in_large_pages());
    }
    cases
}

/// Returns the time of a store of series `of` divided by that of series `to`.
fn stores(e: &Evidence<'_>, of: &str, to: &str) -> Testable<Interval> {
    ratio(e.at(of, AGAIN), e.at(to, AGAIN))
}

/// Returns the share that a load of the stored line takes of a load from memory.
fn reload(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    let share = signed_ratio(e.at(series, RELOAD)?, e.at(ABSENT, RELOAD)?)?;
    // A load takes no less than no time.
    Ok(share.most(Interval::exact(0.0)))
}

/// A write policy: the effect of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The store stays in the cache.
    WriteBack,
    /// The store stays in the cache, and `clwb` writes it to memory as well.
    WriteThrough,
    /// The store bypasses the cache.
    WriteCombining,
    /// The store is neither cached nor combined.
    Uncacheable,
}

/// Set-up of stores to one word. An operation is a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RewriteSetup {
    pub policy: Policy,
}

impl Setup for RewriteSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let way = match self.policy {
            Policy::WriteBack => RewriteWay::Back,
            Policy::WriteThrough => {
                let none = || Untestable::because("this CPU has no clwb");
                RewriteWay::Through(context.features.clwb().ok_or_else(none)?)
            }
            Policy::WriteCombining => RewriteWay::NonTemporal,
            Policy::Uncacheable => {
                return Err(Untestable::because(
                    "a program cannot map uncacheable memory: only the kernel sets the type of a \
                     page (PAT, MTRRs)",
                ));
            }
        };
        Ok(Workload::steady(Rewrite::new(region, way), 1))
    }
}

/// Set-up of lines that are filled, and then read. Only the reading is timed; an operation is a
/// line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadBackSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    pub way: FillWay,
}

impl Setup for ReadBackSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        FillLines::new(region.reborrow(), self.way)?;
        let way = self.way;
        let work = Work::default().load(4, LINE as u32 / 4);
        Ok(Workload::shot(ReadBackShot { region, way }, work))
    }
}

struct ReadBackShot<'m> {
    region: Region<'m>,
    way: FillWay,
}

impl Shot for ReadBackShot<'_> {
    fn prepare(&mut self) {
        // The same was made before, in `ReadBackSetup::prepare`, from the same region.
        if let Ok(mut fill) = FillLines::new(self.region.reborrow(), self.way) {
            let lines = fill.pass();
            black_box(fill.run(lines));
        }
    }

    fn shoot(&mut self) -> u64 {
        let lines = self.operations();
        LoadLines::new(self.region.reborrow(), LoadWay::Cached(Vector::Sse2)).run(lines)
    }

    fn operations(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }
}
