//! Drepper 7.1, performance counters: Figures 7.1 to 7.3, per instruction.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::sync::{Mutex, lock};
use crate::experiment::topics::hierarchy::misses::AHEAD;
use crate::order;
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;
use crate::sim::{
    self, Design, Geometry, GeometryError, Hierarchy, HierarchyDesign, Inclusion, Instructions,
    LevelDesign, Prefetcher, TlbDesign,
};

pub(crate) static ALL: &[Experiment] = &[FIG_7_1];

const IN_ORDER: &str = "in order";
const AT_RANDOM: &str = "at random";

/// Instructions per step of the paper's list walk. With eight 8-byte elements per line, four
/// instructions per step make the 3.125 % of Figure 7.3.
const INSTRUCTIONS: u32 = 4;

/// The kinds of misses of a walk, with the names of their series.
const MISSED: [(Missed, &str); 4] = [
    (Missed::L1d, "L1d misses"),
    (Missed::L2, "L2 misses"),
    (Missed::L2Lines, "L2 misses and prefetches"),
    (Missed::Tlb, "TLB misses"),
];

const CORE_2: &str = "Core 2, 32 KiB L1d, 4 MiB L2 (2007)";

const FIG_7_1: Experiment = Experiment {
    id: "F3",
    name: "drepper-fig-7.1",
    title: "Cycles and misses per instruction",
    question: "What share of the instructions of a list walk misses a cache, and how many cycles \
               per instruction result?",
    source: "Drepper 7.1, Figures 7.1 to 7.3, counted by oprofile on a Core 2",
    about: "A thread walks a list of 8-byte elements, sequentially or at random. The solid curves \
            are misses per hundred instructions, simulated in the caches of the paper's Core 2; a \
            CPU with counters adds curves of its own misses. For random walks, the figure's counts \
            lie at two thirds to nine tenths of the simulation. Its 1 % of L1d misses at 2^16 \
            bytes must be an error: half of the elements are not in L1d there, and Figure 7.1 \
            shows the latency of L2. In the figure, prefetchers bring in as many lines again as a \
            random walk misses; in the simulation, a stream prefetcher finds few streams in it. \
            The cycles per instruction of a dependent walk are the latency of a step divided by \
            its instructions.",
    plot: Some(
        Plot::lines(
            Axis::WORKING_SET,
            Axis::linear("misses per hundred instructions"),
            Unit::Percent,
        )
        .beside(&[
            Reference {
                file: "drepper-fig-7.3.csv",
                machine: CORE_2,
                x: "working_set_bytes",
                columns: &[
                    ("L1D Misses", "in order: L1d misses"),
                    ("L2 Demand Misses", "in order: L2 misses"),
                    ("L2 Misses", "in order: L2 misses and prefetches"),
                    ("DTLB Misses", "in order: TLB misses"),
                ],
            },
            Reference {
                file: "drepper-fig-7.2.csv",
                machine: CORE_2,
                x: "working_set_bytes",
                columns: &[
                    ("L1D Misses", "at random: L1d misses"),
                    ("L2 Demand Misses", "at random: L2 misses"),
                    ("L2 Misses", "at random: L2 misses and prefetches"),
                    ("DTLB Misses", "at random: TLB misses"),
                ],
            },
        ]),
    ),
    cases,
    curves,
    events: events::WALK,
    claims: &[
        // 3.08 to 3.13 % of the instructions of a sequential walk miss L1d from 2^16 bytes on.
        simulated(
            "F3.1",
            drepper("7.1, Figure 7.3"),
            "a simulated sequential walk over 2^16 bytes or more misses an L1d of 32 KiB once in \
             32 instructions, as counted in Figure 7.3 (5 % allowed)",
            |e| {
                all_of(COUNTED_IN_ORDER.map(|(power, counted)| {
                    let simulated = missed(e, IN_ORDER, Missed::L1d, power)?;
                    let what = format!("simulated over counted at 2^{power}");
                    between(&what, simulated.scaled(1.0 / counted), 0.95, 1.05)
                }))
            },
        ),
        // L2 of 4 MiB has next to no misses up to 2^21 bytes, and many from 2^23 on.
        simulated(
            "F3.2",
            drepper("7.1, Figures 7.2 and 7.3"),
            "in both simulated walks, an L2 of 4 MiB fetches hardly any lines at 2^21 bytes (less \
             than 0.1 % of instructions) and many at 2^23 (more than 1 %), as in both figures",
            |e| {
                let of = |order, power| missed(e, order, Missed::L2Lines, power);
                all_of([IN_ORDER, AT_RANDOM].map(|order| {
                    all_of([
                        at_most(&format!("{order}, 2^21"), of(order, 21), 0.1),
                        at_least(&format!("{order}, 2^23"), of(order, 23), 1.0),
                    ])
                }))
            },
        ),
        // Of the lines that a sequential walk brings into L2, the program misses one in 58; the
        // prefetcher fetched the others first.
        simulated(
            "F3.3",
            drepper("7.1, Figure 7.3"),
            "in a simulated sequential walk over 2^23 bytes, the walk misses less than a tenth of \
             the lines that L2 fetches: the prefetcher fetches the others first",
            |e| {
                let of = |which| missed(e, IN_ORDER, which, 23);
                let lines = of(Missed::L2Lines)?.middle();
                if lines <= 0.0 {
                    return Err(Untestable("L2 fetched no lines".to_owned()));
                }
                at_most("missed of the lines fetched", of(Missed::L2)?.scaled(1.0 / lines), 0.1)
            },
        )
        .then(0.017, CORE_2),
        // L1d misses per instruction, random over sequential walk, from 2^18 to 2^23 bytes.
        simulated(
            "F3.4",
            drepper("7.1, Figures 7.2 and 7.3"),
            "from 2^18 to 2^23 bytes, a simulated random walk misses L1d 4 to 8 times as often as \
             a sequential walk",
            |e| {
                all_of([18, 20, 21, 22, 23].map(|power| {
                    let of = |order| missed(e, order, Missed::L1d, power);
                    let more = ratio(of(AT_RANDOM), of(IN_ORDER))?;
                    between(&format!("times at 2^{power}"), more, 4.0, 8.0)
                }))
            },
        )
        .then_between(5.1, 7.0, CORE_2),
        // TLB misses begin between 2^20 and 2^21 bytes.
        simulated(
            "F3.5",
            drepper("7.1, Figure 7.2"),
            "a simulated random walk begins to miss a TLB of 256 entries between 2^20 bytes (less \
             than 0.1 % of instructions) and 2^21 (more than 5 %), as in Figure 7.2",
            |e| {
                let of = |power| missed(e, AT_RANDOM, Missed::Tlb, power);
                all_of([
                    at_most("percent at 2^20", of(20), 0.1),
                    at_least("percent at 2^21", of(21), 5.0),
                ])
            },
        ),
        // L1d misses per instruction, random over sequential walk, at 2^29 bytes.
        counted(
            "F3.6",
            drepper("7.1, Figures 7.2 and 7.3"),
            "in memory, a random walk has more than 3 times as many L1d misses per instruction as \
             a sequential walk, by this CPU's counters",
            |e| {
                let x = e.machine.memory_size()?;
                let each = |order| per_instruction(e, order, x, Quantity::L1dMisses);
                at_least("at random over in order", ratio(each(AT_RANDOM), each(IN_ORDER)), 3.0)
            },
        )
        .then(4.2, CORE_2),
        // 0.88 cycles per instruction in L1d, 14.3 at 2^29 bytes.
        counted(
            "F3.7",
            drepper("7.1, Figure 7.1"),
            "a random walk takes more than 10 times as many cycles per instruction in memory as in \
             L1d, by this CPU's counters",
            cycles_an_instruction,
        )
        .then(16.3, CORE_2),
    ],
    ..Experiment::PLAIN
};

/// L1d misses in percent of instructions from Figure 7.3, at powers of two.
const COUNTED_IN_ORDER: [(u32, f64); 6] =
    [(16, 3.084), (18, 3.119), (20, 3.131), (21, 3.133), (22, 3.133), (23, 3.131)];

/// The powers of two that a quick run simulates.
const FEW: [u32; 8] = [12, 14, 16, 18, 20, 21, 22, 23];

fn orders(seed: u64) -> [(&'static str, Order); 2] {
    [(IN_ORDER, Order::Sequential), (AT_RANDOM, Order::Random { seed })]
}

fn cases(machine: &Machine) -> Vec<Case> {
    let powers = if machine.full { (10..=25).collect() } else { FEW.to_vec() };
    let walk = |bytes, order| WalkSetup::follow(Layout::npad(0), bytes, order);
    let mut cases = Vec::new();
    // The simulation does not depend on the machine, and so does not use the run's seed.
    for (name, order) in orders(1) {
        for (missed, what) in MISSED {
            let sizes = powers.iter().map(|&power| 1 << power);
            for bytes in sizes.filter(|&bytes| bytes <= machine.largest) {
                let setup = Core2Setup { walk: walk(bytes, order), missed };
                cases.push(Case::new(label(name, what), bytes as f64, setup));
            }
        }
    }
    for (name, order) in orders(machine.seed) {
        // The smallest size lies in L1d, the largest in memory.
        let smallest = machine.working_sets().first().copied();
        for bytes in order::distinct(machine.few_working_sets(4).into_iter().chain(smallest)) {
            cases.push(Case::new(name, bytes as f64, walk(bytes, order)));
        }
    }
    cases
}

fn label(order: &str, what: &str) -> String {
    format!("{order}: {what}")
}

/// Returns the simulated misses of a list of 2^`power` bytes, in percent of its instructions.
fn missed(e: &Evidence<'_>, order: &str, which: Missed, power: u32) -> Testable<Reading> {
    let (_, what) = MISSED[which as usize];
    e.at(&label(order, what), f64::from(1_u32 << power))
}

/// Returns the count of `quantity` per instruction.
fn per_instruction(
    e: &Evidence<'_>,
    order: &str,
    x: f64,
    quantity: Quantity,
) -> Testable<Interval> {
    ratio(e.count(order, x, quantity), e.count(order, x, Quantity::Instructions))
}

fn cycles_an_instruction(e: &Evidence<'_>) -> Judged {
    let l1 = e.machine.ranges.l1;
    let series = e.series(AT_RANDOM)?;
    let near = series.iter().map(|(x, _)| *x).find(|x| l1.holds(*x));
    let near = near.ok_or_else(|| Untestable(format!("no list was walked in the {l1}")))?;
    let far = e.machine.memory_size()?;
    let each = |x| ratio(e.at(AT_RANDOM, x), e.count(AT_RANDOM, x, Quantity::Instructions));
    at_least("cycles per instruction, memory over L1d", ratio(each(far), each(near)), 10.0)
}

/// Returns the simulated curves, and the curves that this machine counted.
fn curves(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves_of(|label| ![IN_ORDER, AT_RANDOM].contains(&label));
    let counted = [
        (Quantity::L1dMisses, "L1d misses, counted here"),
        (Quantity::L2Misses, "L2 misses, counted here"),
    ];
    for order in [IN_ORDER, AT_RANDOM] {
        for (quantity, what) in counted {
            let places = e.counts(order, quantity).into_iter();
            let points: Vec<(f64, Interval)> = places
                .filter_map(|(x, _)| {
                    let each = per_instruction(e, order, x, quantity).ok()?;
                    Some((x, each.scaled(100.0)))
                })
                .collect();
            if !points.is_empty() {
                curves.push(Curve { label: label(order, what), points });
            }
        }
    }
    curves
}

/// A kind of miss of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missed {
    /// Loads that miss L1d.
    L1d,
    /// Loads that miss L2.
    L2,
    /// Lines that L2 fills, for loads and for its prefetcher.
    L2Lines,
    /// Loads that miss the TLB.
    Tlb,
}

/// Set-up that simulates a walk in the caches of the Core 2 of Drepper's section 7 and reports the
/// misses of its second lap, in percent of its instructions.
///
/// The caches are an L1d of 32 KiB and 8 ways, an L2 of 4 MiB and 16 ways with a stream prefetcher,
/// and a TLB of 256 entries in sets of 4 for pages of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Core2Setup {
    pub walk: WalkSetup,
    pub missed: Missed,
}

/// The counts of each walk, in the order of [`Missed`]. One simulation yields the four numbers
/// of a walk, and later passes reuse them.
static KNOWN: Mutex<Vec<(WalkSetup, [u64; 4])>> = Mutex::new(Vec::new());

impl Setup for Core2Setup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let mut known = lock(&KNOWN);
        let found = known.iter().find(|(walk, _)| *walk == self.walk);
        let counts = match found {
            Some((_, counts)) => *counts,
            None => {
                let counts = count(self.walk, region, context)?;
                known.push((self.walk, counts));
                counts
            }
        };
        let instructions = self.walk.count as f64 * f64::from(INSTRUCTIONS);
        let count = counts[self.missed as usize];
        Ok(Workload::Count(100.0 * count as f64 / instructions))
    }
}

fn count(walk: WalkSetup, region: Region<'_>, context: &Context) -> Testable<[u64; 4]> {
    let (mut kernel, period) = walk.prepare(region, context)?.kernel()?;
    let design = design()?;
    let mut caches = Hierarchy::new(&design)?;
    for counted in [false, true] {
        kernel.trace(period, &mut |access| {
            caches.reference(sim::Reference::of(access, 0));
        });
        if !counted {
            caches.forget_counts();
        }
    }
    let l2 = caches.counters(1);
    Ok([
        caches.counters(0).misses(),
        l2.misses(),
        l2.fills,
        caches.tlb().map_or(0, |tlb| tlb.first().misses),
    ])
}

/// Returns the design of a 65 nm Core 2, from its CPUID (leaf 2: 2Ch, 49h, and B4h for the TLB).
fn design() -> Result<HierarchyDesign, GeometryError> {
    let level = |geometry| LevelDesign::new(Design::lru(geometry), Inclusion::NonInclusive);
    let mut l2 = level(Geometry::new(4 << 20, 16, 64)?);
    l2.prefetchers = vec![Prefetcher::Streamer { ahead: AHEAD }];
    Ok(HierarchyDesign {
        instructions: Instructions::Ignored,
        levels: vec![level(Geometry::new(32 << 10, 8, 64)?), l2],
        tlb: Some(TlbDesign::new(256, 4, 4096)?),
    })
}
