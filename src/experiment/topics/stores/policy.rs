//! Drepper 3.3.3, write behaviour: what a program can see of the write policies.

use crate::experiment::claim::counted::{self, Counted};
use crate::experiment::prelude::*;
use crate::experiment::topics::stores::evict::{Evict, LineState, ReloadSetup, Then};
use crate::kernel::{
    FillLines, FillWay, Kernel, LoadLines, LoadWay, Rewrite, RewriteWay, Vector, Work,
};
use crate::measure::Shot;
use crate::mem::{LINE, Region};
use crate::sim::{Cache, Design, Geometry, Reference, WriteHit, WriteMiss};
use crate::stats::Interval;
use core::hint::black_box;

/// The row of this family.
pub(crate) static ALL: &[Experiment] = &[POLICIES];

const BACK: &str = "write-back: plain stores";
const THROUGH: &str = "write-through: each store followed by clwb";
const COMBINING: &str = "write-combining: non-temporal stores";
const COMBINING_ABSENT: &str = "write-combining: non-temporal stores to a line in no cache";
const UNCACHEABLE: &str = "uncacheable";
const ABSENT: &str = "a line in no cache";

/// Where on the axis storing again and again, loading one line and reading a run of lines stand.
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
        seen(
            "Skylake",
            "In servers, which have it, clwb evicts the line.",
        ),
        seen(
            "Zen 4",
            "clwb keeps the line, not in L1d but about as far away as the last level. \
             Non-temporal stores evict a line that they find in L1d.",
        ),
        seen(
            "Zen 5",
            "Non-temporal stores leave a line that they find in L1d where it is.",
        ),
    ],
    about: "Ordinary memory is write-back, and a program has no other. It comes near to \
            write-through with a `clwb` behind each store, which waits for the one before to \
            reach the memory controller, and to write-combining with non-temporal stores. A \
            variable that is written over and over costs a cycle a store in a write-back cache; \
            the same stores past it cost no more while they meet in one buffer. Non-temporal \
            stores are tried on a line that is in no cache, where they must bring none in, and \
            on one that is in L1d, of which a CPU may make what it likes. Where `clwb` leaves \
            the line differs as well.",
    plot: Some(Plot::bars(
        Axis::linear(
            "a store to one word again and again (0), a load of a stored line (1), a line of many \
             read back (2)",
        ),
        Axis::log("time"),
        Unit::CoreCycles,
    )),
    cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| SIMULATED.iter().all(|row| row.series != curve.label));
        curves
    },
    events: events::STORES,
    claims: &[
        // Write-through writes to memory at once whenever the line is written; a variable
        // modified over and over makes a lot of traffic. Write-back waits until the line is
        // dropped.
        simulated(
            "D22.1",
            drepper("3.3.3"),
            "1,000 stores to one word are 1,000 writes on the bus under write-through and a \
             single one under write-back, when the line makes way",
            |e| counted::all(e, &SIMULATED[..2]),
        ),
        // Under write-back a line is marked dirty and goes to memory once, when it is dropped.
        simulated(
            "D22.2",
            drepper("3.3.3"),
            "a run of four times the cache, written word by word, takes an eighth of the bus \
             writes under write-back: one for a line of eight words",
            |e| counted::all(e, &SIMULATED[2..4]),
        ),
        simulated(
            "D22.3",
            ours("the limit of what write-back can save"),
            "where one word of each line is written, write-back saves no bus write",
            |e| counted::all(e, &SIMULATED[4..]),
        ),
        // Write-through is simple but not very fast, above all for a variable that is modified
        // over and over. Twice is our measure; clwb behind each store comes near it.
        measured(
            "D22.4",
            drepper("3.3.3"),
            "write-through is slow for a variable that is written over and over: a store with \
             clwb behind it takes more than twice as long as under write-back",
            |e| {
                at_least(
                    "write-through over write-back",
                    stores(e, THROUGH, BACK),
                    2.0,
                )
            },
        ),
        // Write-combining combines several writes before the line is written out, which can be
        // significantly faster. Non-temporal stores come near it.
        measured(
            "D22.5",
            drepper("3.3.3"),
            "write-combining collects stores to one word: each takes less than half of one that \
             is written through",
            |e| {
                at_most(
                    "write-combining over write-through",
                    stores(e, COMBINING, THROUGH),
                    0.5,
                )
            },
        ),
        measured(
            "D22.6",
            ours("uncacheable memory is described without a word about its cost"),
            "a store to uncacheable memory is slower than one that is combined",
            |e| {
                at_least(
                    "uncacheable over write-combining",
                    stores(e, UNCACHEABLE, COMBINING),
                    1.0,
                )
            },
        ),
        // Under write-back the line stays in the cache and is dropped at some point in the
        // future.
        measured(
            "D22.7",
            drepper("3.3.3"),
            "a line under write-back is in the cache when it is loaded again: its load takes \
             less than half of one from memory",
            |e| at_most("share of a miss", reload(e, BACK), 0.5),
        ),
        // Under write-through cache and memory are in sync; the line stays.
        measured(
            "D22.8",
            drepper("3.3.3"),
            "a line that was written through by clwb is in a cache when it is loaded again: its \
             load takes less than half of one from memory",
            |e| at_most("share of a miss", reload(e, THROUGH), 0.5),
        ),
        measured(
            "D22.9",
            ours("what becomes of a line that the cache has already: the manuals leave it open"),
            "a line of L1d that non-temporal stores have written has left the caches: its load \
             takes 0.8 of one from memory and more",
            |e| at_least("share of a miss", reload(e, COMBINING), 0.8),
        )
        .holding("Non-temporal stores evict a line that they find in the cache.")
        .failing(
            "Non-temporal stores write into a line that they find in L1d, and leave it there.",
        ),
        measured(
            "D22.10",
            ours("what becomes of many lines in L2"),
            "lines for half of L2, written by non-temporal stores, take 1.5 times as long to \
             read back as lines written through the cache, or longer",
            |e| {
                let slower = ratio(e.at(COMBINING, READ_BACK), e.at(BACK, READ_BACK))?;
                at_least("non-temporal over cached, read back", slower, 1.5)
            },
        ),
        // Non-temporal stores write to memory directly and do not read a line to modify it; they
        // avoid polluting the cache. The measure is ours.
        measured(
            "D22.11",
            drepper("6.1"),
            "non-temporal stores bring no line into a cache: the load of a line that was in none \
             when they wrote it takes 0.8 of one from memory and more",
            |e| at_least("share of a miss", reload(e, COMBINING_ABSENT), 0.8),
        ),
    ],
};

/// Stores that are simulated: to one word again and again, to every word of a run of four times
/// the cache, and to one word of every line of it.
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
    Counted::exactly(
        "bus writes, every word, write-through",
        (RUN / WORD) as f64,
        || bus_writes(WriteHit::Through, (0..RUN).step_by(WORD as usize)),
    ),
    Counted::exactly(
        "bus writes, every word, write-back",
        (RUN / LINE as u64) as f64,
        || bus_writes(WriteHit::Back, (0..RUN).step_by(WORD as usize)),
    ),
    Counted::exactly(
        "bus writes, a word a line, write-through",
        (RUN / LINE as u64) as f64,
        || bus_writes(WriteHit::Through, (0..RUN).step_by(LINE)),
    ),
    Counted::exactly(
        "bus writes, a word a line, write-back",
        (RUN / LINE as u64) as f64,
        || bus_writes(WriteHit::Back, (0..RUN).step_by(LINE)),
    ),
];

/// What a cache of 32 KiB and 8 ways writes on the bus for stores to these addresses, until loads
/// have driven the last of them out.
fn bus_writes(hit: WriteHit, stores: impl Iterator<Item = u64>) -> Result<f64, Untestable> {
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
    let mut cases: Vec<Case> = counted::cases(&SIMULATED).collect();
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

/// The time of a store under one policy over that under another.
fn stores(e: &Evidence<'_>, of: &str, to: &str) -> Result<Interval, Untestable> {
    ratio(e.at(of, AGAIN), e.at(to, AGAIN))
}

/// The share that loading a line again takes of a load from memory.
fn reload(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    share_of_miss(e.at(series, RELOAD)?, e.at(ABSENT, RELOAD)?)
}

/// What becomes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// It stays in the cache.
    WriteBack,
    /// It stays in the cache, and `clwb` writes it to memory as well.
    WriteThrough,
    /// It bypasses the cache.
    WriteCombining,
    /// Neither is cached nor combined.
    Uncacheable,
}

impl Policy {
    /// The reason, if a program cannot have it.
    fn untestable(self) -> Result<(), Untestable> {
        if self == Policy::Uncacheable {
            return Err(Untestable::because(
                "a program cannot map uncacheable memory: the kernel alone sets the type of a \
                 page (PAT, MTRRs)",
            ));
        }
        Ok(())
    }
}

/// Stores to one word. An operation is a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RewriteSetup {
    /// What becomes of each.
    pub policy: Policy,
}

impl Setup for RewriteSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        self.policy.untestable()?;
        let way = match self.policy {
            Policy::WriteBack => RewriteWay::Back,
            Policy::WriteThrough => {
                let token = context.features.clwb();
                RewriteWay::Through(
                    token.ok_or_else(|| Untestable::because("this CPU has no clwb"))?,
                )
            }
            Policy::WriteCombining | Policy::Uncacheable => RewriteWay::NonTemporal,
        };
        Ok(Workload::steady(Rewrite::new(region, way), 1))
    }
}

/// Lines that are filled in some way, and then read. The reading is timed; an operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadBackSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    /// How they are filled.
    pub way: FillWay,
}

impl Setup for ReadBackSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        FillLines::new(region.reborrow(), self.way)?;
        Ok(Workload::shot(
            ReadBackShot {
                region,
                way: self.way,
            },
            Work {
                loads: 4,
                bytes_read: LINE as u32,
                ..Work::default()
            },
        ))
    }
}

struct ReadBackShot<'m> {
    region: Region<'m>,
    way: FillWay,
}

impl Shot for ReadBackShot<'_> {
    fn prepare(&mut self) {
        // It was made once already, from the same region.
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
