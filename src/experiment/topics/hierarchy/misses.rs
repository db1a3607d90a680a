//! Drepper 3.3.2: reads and misses of L2, Figure 3.16 and Table 3.2.

use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;
use crate::sim;
use crate::sim::{
    Design, Geometry, Hierarchy, HierarchyDesign, Inclusion, Instructions, LevelDesign, Prefetcher,
};

pub(crate) static ALL: &[Experiment] = &[TABLE_3_2];

const SEQUENTIAL: &str = "sequential";
const RANDOM: &str = "random";
const SEQUENTIAL_SIMULATED: &str = "sequential, simulated";
const RANDOM_SIMULATED: &str = "random, simulated";

/// The simulated working sets, in multiples of the size of L2.
const SIMULATED: [usize; 3] = [1, 2, 4];

const TABLE_3_2: Experiment = Experiment {
    id: "D20",
    name: "drepper-table-3.2",
    title: "L2 misses of sequential and random walks",
    question: "How often does a walk over 8-byte elements read L2, and what share of these reads \
               misses?",
    source: "Drepper 3.3.2, Figure 3.16 and Table 3.2. Their numbers look like the samples of a \
             profiler, one per 3,000 events; the table's ratio is misses divided by all reads",
    about: "The chart shows L2 misses in percent of L2 reads over the working set: as the \
            simulator finds them, and as hardware counters do where they are available. In a \
            sequential walk, a stream prefetcher brings lines into L2 before the walk reads them. \
            In a random walk, nearly every element lies in another line, and L2 keeps only a part \
            of the lines: its size divided by the working set. The vendors define a read of L2 \
            differently. Intel's events include the reads of L1d's prefetcher, so a sequential \
            ratio says more about prefetchers than about the program. A separate table shows the \
            counts per element.",
    plot: Some(Plot::lines(Axis::WORKING_SET, Axis::linear("L2 misses"), Unit::Percent).beside(&[
        Reference {
            file: "drepper-fig-3.16.csv",
            machine: PENTIUM_4,
            x: "working_set_bytes",
            columns: &[("Sequential", SEQUENTIAL), ("Random", RANDOM)],
        },
    ])),
    cases: |machine| {
        let orders = [
            (SEQUENTIAL, SEQUENTIAL_SIMULATED, Order::Sequential),
            (RANDOM, RANDOM_SIMULATED, Order::Random { seed: machine.seed }),
        ];
        let walk = |bytes, order| WalkSetup::follow(Layout::npad(0), bytes, order);
        let mut cases = Vec::new();
        for (timed, simulated, order) in orders {
            let sizes = machine.working_sets().into_iter();
            cases.extend(sizes.map(|bytes| Case::new(timed, bytes as f64, walk(bytes, order))));
            if let Some((l1, l2, sizes)) = simulation(machine) {
                let setup = |walk| RatioSetup { walk, l1, l2 };
                let case = |bytes| Case::new(simulated, bytes as f64, setup(walk(bytes, order)));
                cases.extend(sizes.map(case));
            }
        }
        cases
    },
    curves: ratios,
    events: events::WALK,
    claims: &[
        // Of sequential reads of L2, 0.94 to 4.67 % miss; of random reads, 13.42, 40.98 and 50.03 %
        // miss at one, two and four times the size of L2.
        simulated(
            "D20.1",
            drepper("3.3.2, Table 3.2"),
            "in a simulator with a stream prefetcher, fewer than 5 % of a sequential walk's reads \
             of L2 miss, and the share of a random walk's reads that misses grows from one to two \
             to four times the size of L2",
            |e| {
                let mut parts = Vec::new();
                let mut before: Option<Reading> = None;
                let (.., sizes) = simulation(e.machine).ok_or_else(|| {
                    Untestable::because("CPUID does not describe L1d and L2, which are simulated")
                })?;
                for x in sizes.map(|bytes| bytes as f64) {
                    let in_order = e.at(SEQUENTIAL_SIMULATED, x)?;
                    parts.push(at_most("percent of sequential reads that miss", in_order, 5.0));
                    let at_random = e.at(RANDOM_SIMULATED, x)?;
                    if let Some(before) = before.replace(at_random.clone()) {
                        let more = minus(at_random, before);
                        parts.push(at_least("percentage points more at random", more, 1.0));
                    }
                }
                all_of(parts)
            },
        )
        .then(0.94, PENTIUM_4),
        // Sequentially 1.77 to 4.67 % of the reads of L2 miss from 2^21 bytes on.
        counted(
            "D20.2",
            drepper("3.3.2, Table 3.2"),
            "fewer than 5 % of a sequential walk's reads of L2 miss at twice the size of L2 and \
             beyond, as counted",
            |e| {
                all_of(
                    beyond(e.machine)?.into_iter().map(|x| {
                        at_most("percent of reads that miss", missed(e, SEQUENTIAL, x), 5.0)
                    }),
                )
            },
        )
        .then_between(1.77, 4.67, PENTIUM_4),
        // At random 40.98 % miss at 2^21 bytes and 57.84 % at 2^29.
        counted(
            "D20.3",
            drepper("3.3.2, Table 3.2"),
            "the share of a random walk's reads of L2 that misses is more than 1.1 times as large \
             at the largest working set as at twice the size of L2, as counted",
            |e| {
                let (first, last) = ends(e.machine)?;
                let more = ratio(missed(e, RANDOM, last), missed(e, RANDOM, first))?;
                at_least("share of misses, largest working set over twice L2", more, 1.1)
            },
        )
        .then(1.41, PENTIUM_4),
        // Reads of L2 per iteration double with the working set in a sequential walk (10.9 to
        // 2,889), and more than double in a random walk (72.2 to 141,238: 2.58 times on average),
        // by TLB misses. Without these, a random walk's reads double too, apart from the few that
        // L1d serves at the smallest working sets. More than double is therefore beyond what counts
        // as double in sequence.
        counted(
            "D20.4",
            drepper("3.3.2, Table 3.2"),
            "beyond L2, each doubling of the working set doubles a sequential walk's reads of L2 \
             (1.9 to 2.1 times) and more than doubles a random walk's reads (more than 2.1 \
             times), as counted",
            |e| {
                let least = Extreme::least(growths(e, SEQUENTIAL)?)?.value;
                let most = Extreme::most(growths(e, SEQUENTIAL)?)?.value;
                let at_random = Extreme::least(growths(e, RANDOM)?)?.value;
                all_of([
                    at_least("least growth per doubling, sequential", least, 1.9),
                    at_most("largest growth per doubling, sequential", most, 2.1),
                    at_least("least growth per doubling, random", at_random, 2.1),
                ])
            },
        )
        .then(2.0, PENTIUM_4)
        .failing(
            "In sequence the reads do not double, or at random they do no more than that: page \
             walks read L2 too rarely, or the event leaves their reads out.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the geometry of the cache of `level` for the simulator, as CPUID describes the cache.
fn geometry(machine: &Machine, level: u8) -> Option<Geometry> {
    let cache = machine.data_cache(level)?;
    let ways = u64::from(cache.ways?);
    Geometry::new(cache.size, ways, u64::from(cache.line)).ok()
}

/// Returns L1d, L2 and the working sets of the simulation, if CPUID describes both caches.
fn simulation(machine: &Machine) -> Option<(Geometry, Geometry, [usize; 3])> {
    let (l1, l2) = (geometry(machine, 1)?, geometry(machine, 2)?);
    let size = machine.data_cache(2)?.size as usize;
    Some((l1, l2, SIMULATED.map(|times| times * size)))
}

/// Returns the working sets of twice L2 and more.
fn beyond(machine: &Machine) -> Testable<Vec<f64>> {
    let l2 = machine.data_cache(2);
    let l2 = l2.ok_or_else(|| Untestable("CPUID does not report the size of L2".to_owned()))?;
    let sizes = machine.working_sets().into_iter().map(|bytes| bytes as f64);
    Ok(sizes.filter(|x| *x >= 2.0 * l2.size as f64).collect())
}

/// Returns the smallest and the largest working set of twice L2 and more.
fn ends(machine: &Machine) -> Testable<(f64, f64)> {
    match beyond(machine)?[..] {
        [first, .., last] => Ok((first, last)),
        _ => Err(Untestable::because(
            "the claim needs two working sets beyond L2, and the memory that may be used is too \
             small",
        )),
    }
}

/// Returns how much the reads of L2 of a whole walk grow with each doubling of the working set beyond
/// twice L2.
fn growths(
    e: &Evidence<'_>,
    series: &str,
) -> Testable<impl Iterator<Item = Testable<(f64, Interval)>>> {
    let sizes = beyond(e.machine)?;
    ends(e.machine)?;
    let pairs = sizes.clone().into_iter().filter(move |x| sizes.contains(&(2.0 * x)));
    // If the reads of a walk double with its size, the reads per element stay the same.
    Ok(pairs.map(move |x| {
        let reads = |x| e.count(series, x, Quantity::L2Accesses);
        let each = ratio(reads(2.0 * x), reads(x))?;
        Ok((x, each.scaled(2.0)))
    }))
}

/// Returns the misses in percent of the reads of L2, as counted.
fn missed(e: &Evidence<'_>, series: &str, x: f64) -> Testable<Interval> {
    let misses = e.count(series, x, Quantity::L2Misses)?;
    share(misses, e.count(series, x, Quantity::L2Accesses)?).ok_or_else(|| {
        Untestable(format!("no read of L2 was counted at a working set of {x} bytes"))
    })
}

/// Returns `misses` in percent of `reads`. There may be no misses; `None` if there may be no reads.
fn share(misses: Interval, reads: Interval) -> Option<Interval> {
    let percent = |misses: f64, reads: f64| 100.0 * misses / reads;
    (reads.lo > 0.0)
        .then(|| Interval::new(percent(misses.lo, reads.hi), percent(misses.hi, reads.lo)))
}

/// Returns the curves of Figure 3.16: the ratios as counted, where they were counted, and as simulated.
fn ratios(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves_of(|label| [SEQUENTIAL_SIMULATED, RANDOM_SIMULATED].contains(&label));
    for series in [SEQUENTIAL, RANDOM] {
        let reads = e.counts(series, Quantity::L2Accesses).into_iter();
        let points = reads.filter_map(|(x, reads)| {
            let mut misses = e.counts(series, Quantity::L2Misses).into_iter();
            let (_, misses) = misses.find(|(at, _)| *at == x)?;
            Some((x, share(misses, reads)?))
        });
        let points: Vec<(f64, Interval)> = points.collect();
        if !points.is_empty() {
            curves.push(Curve { label: series.to_owned(), points });
        }
    }
    curves
}

/// The misses of a simulated L2 in percent of its reads, in the second lap of a walk.
#[derive(Clone, Copy, Debug)]
struct RatioSetup {
    /// The walk, of which the simulator runs two laps.
    walk: WalkSetup,
    l1: Geometry,
    /// L2, with a prefetcher that follows streams.
    l2: Geometry,
}

/// Lines that the prefetcher runs ahead: half as far as Intel's streamer may (optimization manual
/// 248966, "Data Prefetch to L1 caches and L2", 20 lines).
pub(crate) const AHEAD: u8 = 10;

impl Setup for RatioSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let (mut kernel, period) = self.walk.prepare(region, context)?.kernel()?;
        let level = |cache| LevelDesign::new(Design::lru(cache), Inclusion::NonInclusive);
        let prefetchers = vec![Prefetcher::Streamer { ahead: AHEAD }];
        let l2 = LevelDesign { prefetchers, ..level(self.l2) };
        let mut caches = Hierarchy::new(&HierarchyDesign {
            instructions: Instructions::Ignored,
            levels: vec![level(self.l1), l2],
            tlb: None,
        })?;
        for _lap in 0..2 {
            caches.forget_counts();
            kernel.trace(period, &mut |access| {
                caches.reference(sim::Reference::of(access, 0));
            });
        }
        Ok(Workload::Count(100.0 * caches.counters(1).miss_ratio()))
    }
}
