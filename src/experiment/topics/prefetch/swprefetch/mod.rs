//! Drepper 6.3.2, software prefetching: the hints, Figure 6.7, and the distance that pays.

use crate::cpu::Hint;
use crate::experiment::prelude::*;
use crate::experiment::shared::hint::executed;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Measured, Point};
use crate::kernel::{Ahead, Dependence, PrefetchWalk};
use crate::model::step_with_prefetch;
use crate::pattern::Layout;
pub(super) use distance::LATE;

pub(super) mod distance;
mod helper;
mod hints;

pub(crate) static ALL: &[Experiment] =
    &[hints::HINTS, FIG_6_7, distance::DISTANCE, helper::FIG_6_8];

/// An element of the paper's list: 128 bytes.
const NODE: Layout = Layout::npad(15);

/// A walk along a list in random order, with work and a prefetch at each node.
#[derive(Clone, Copy, Debug)]
struct PrefetchSetup {
    list: WalkSetup,
    ahead: Option<Ahead>,
    /// Dependent multiplications per node, 3 core cycles each.
    work: u32,
    /// Whether the work can overlap the next node's miss.
    pace: Dependence,
}

impl Setup for PrefetchSetup {
    fn bytes(&self) -> usize {
        self.list.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        if let Some(ahead) = self.ahead {
            executed(ahead.hint, context)?;
        }
        let walk = PrefetchWalk::new(self.list.ring(region)?, self.ahead, self.work, self.pace)?;
        Ok(Workload::steady(walk, self.list.count as u64))
    }

    /// Predicts only walks whose work does not overlap the next node's miss. How far work
    /// overlaps a miss depends on the CPU's queues.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.pace == Dependence::Serial).then_some(())?;
        let step = self.list.predict(parameters)?;
        let miss = step.cycles;
        let hit = parameters.l1()?;
        // A multiplication takes three cycles.
        let work = f64::from(self.work) * 3.0;
        let cycles = match self.ahead {
            None => work + miss,
            Some(ahead) => {
                let distance = ahead.elements.clamp(1, 1 << 20) as u32;
                step_with_prefetch(miss, work + hit, distance)
            }
        };
        Some(step.then(cycles, &AHEAD))
    }
}

static AHEAD: Model = Model {
    name: "work plus a random step, or the longer of work and a share of the step",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "hints that the CPU drops, and page walks that a prefetch avoids",
};

/// The paper's distance, in nodes.
const FIVE: usize = 5;

/// The distances of the sweep, in memory only. E27 measures the distances in between.
pub(crate) const DISTANCES: [usize; 6] = [1, 2, 5, 8, 16, 128];

/// Multiplications per node: 53 dependent ones take 159 core cycles, the paper's 160.
pub(crate) const WORK: u32 = 53;

/// The series, in a full run, of distances at which the lines that wait for the walk fill half of L1d, and twice L1d.
/// In large pages, second-level TLBs hold the translations at both distances.
const HALF: &str = "half of L1d ahead, in 2 MiB pages";
const TWICE: &str = "twice L1d ahead, in 2 MiB pages";

pub(crate) const PLAIN: &str = "no prefetch";
const OVERLAPPED: &str = "no prefetch, work overlaps the miss";
const OVERLAPPED_AHEAD: &str = "5 ahead, work overlaps the miss";

/// The series of the other hints, five nodes ahead.
const HINTED: [(&str, Hint); 4] = [
    ("5 ahead by prefetcht1", Hint::T1),
    ("5 ahead by prefetcht2", Hint::T2),
    ("5 ahead by prefetchnta", Hint::Nta),
    ("5 ahead by prefetchw", Hint::Write),
];

pub(crate) const FIG_6_7: Experiment = Experiment {
    id: "E37",
    name: "drepper-fig-6.7",
    title: "A random walk with work at each node and a prefetch ahead",
    question: "How much of a miss does a software prefetch hide behind 160 cycles of work?",
    source: "Drepper 6.3.2, Figure 6.7: 128-byte elements, about 160 cycles of work per node, the \
             node 5 ahead is prefetched; here a jump pointer in each node holds the address of \
             that node",
    about: "A random walk works about 160 cycles at each node, without and with a prefetch of a \
            later node. The axis is the size of the list. At a distance of latency over work the \
            prefetch hides the whole miss, if the core can keep that many misses in flight. In \
            the judged walks the work decides which node is next, as in the document; there a \
            prefetch can hide even the latency of L2. The curves named overlapped have \
            independent work: an out-of-order core then fetches the next node during the work \
            without any prefetch. A distance that is too long costs more again. The L1 dTLB is the \
            first to evict a translation before the walk reaches its node, at a hundred nodes; \
            L1d evicts lines once more lines wait for the walk than it has room for.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-6.7.csv",
        machine: "512 KiB L2 (2007)",
        x: "working_set_bytes",
        columns: &[("One Thread", "no prefetch"), ("With Prefetch", "5 ahead")],
    }]),
    cases,
    events: events::PREFETCHES,
    claims: &[
        // As long as the working set does not exceed the last level, the numbers are identical: the
        // prefetches cost nothing that can be measured.
        measured(
            "E37.1",
            drepper("6.3.2, Figure 6.7"),
            "in L1d and L2, a prefetch 5 nodes ahead changes the time per node of a random walk \
             by less than 3 %",
            |e| {
                all_of([("L1d", e.machine.ranges.l1), ("L2", e.machine.ranges.l2)].map(
                    |(name, range)| {
                        let change = paired(e, &ahead(FIVE), PLAIN, range)?;
                        between(&format!("prefetch over none, {name}"), change, 0.97, 1.03)
                    },
                ))
            },
        )
        .then_between(0.98, 1.0, "512 KiB L2 (2007)")
        .failing(
            "In L2 the prefetch hides a part of the latency, or its instructions cost time of \
             their own.",
        ),
        // Beyond L2 prefetching saves 50 to 60 cycles, up to 8 %.
        measured(
            "E37.2",
            drepper("6.3.2, Figure 6.7"),
            "in memory, a prefetch 5 nodes ahead saves more than 5 % of the time per node of a \
             random walk",
            |e| {
                let memory = e.machine.ranges.memory;
                at_most("prefetch over none", paired(e, &ahead(FIVE), PLAIN, memory), 0.95)
            },
        )
        .then_between(0.92, 0.97, "512 KiB L2 (2007)")
        .takeaway(
            Shown::Saved,
            Touches::Many,
            "Saved by software prefetch on a random list",
            "Software prefetch saves {now} of the time of a walk through a random list in memory",
        )
        .advice(
            "Prefetch where you know addresses several steps ahead, and tune the distance.",
            "Do not add software prefetches to such walks unless you measure a gain.",
        )
        .holding(
            "A prefetch that comes early enough leaves little more than the work at each node.",
        ),
        measured(
            "E37.3",
            ours("the document used one hint only"),
            "in memory, prefetcht1, prefetcht2 and prefetchnta 5 nodes ahead save more than 5 % \
             of the time per node of a random walk",
            |e| {
                all_of(HINTED[..3].iter().map(|(series, hint)| {
                    let change = paired(e, series, PLAIN, e.machine.ranges.memory)?;
                    at_most(&format!("{} over none", hint.name()), change, 0.95)
                }))
            },
        )
        .holding(
            "Even a hint that the CPU drops can save time: it brings the translation, and hides \
             the page walk but not the miss.",
        ),
        // prefetchw brings the line into L1 like the other prefetch instructions.
        measured(
            "E37.4",
            drepper("6.3.2"),
            "in memory, a random walk takes as long with prefetchw 5 nodes ahead as with \
             prefetcht0, within a tenth",
            |e| {
                let change = paired(e, HINTED[3].0, &ahead(FIVE), e.machine.ranges.memory)?;
                between("prefetchw over prefetcht0", change, 0.9, 1.1)
            },
        ),
        // With too short a distance the line does not arrive in time; with too long a one the data
        // may have been evicted again.
        measured(
            "E37.5",
            drepper("6.3.4"),
            "in memory, a random walk takes more than 3 % longer with a prefetch 1 node ahead than \
             with the best distance of 2 to 16, and more than 3 % longer so far ahead that the \
             prefetched lines fill L1d twice than so far that they fill half of it",
            |e| {
                // If the points have no value, their own reason is reported.
                let near = over_best(e, DISTANCES[0])?;
                let x = e.machine.memory_size()?;
                if !e.machine.full {
                    return Err(Untestable::because(
                        "a quick run does not prefetch so far ahead: `--profile full` does",
                    ));
                }
                let evicted = ratio(e.at(TWICE, x), e.at(HALF, x));
                all_of([Ok(near), at_least("twice L1d ahead over half of it", evicted, 1.03)])
            },
        ),
        measured(
            "E37.6",
            ours(
                "a prefetch also brings a translation, and the L1 dTLB has fewer entries than L1d \
                 has lines",
            ),
            "in memory and in 4 KiB pages, a random walk takes more than 3 % longer with a \
             prefetch 128 nodes ahead than with the best distance of 2 to 16",
            |e| {
                let farthest = DISTANCES[DISTANCES.len() - 1];
                let entries = e.machine.calibration.dtlb_reach().map_or(0, |bytes| bytes / PAGE);
                if entries >= farthest {
                    return Err(Untestable(format!(
                        "the L1 dTLB of this core has {entries} entries, enough for {farthest} \
                         nodes"
                    )));
                }
                in_small_pages(e, &ahead(farthest))?;
                over_best(e, farthest)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn ahead(distance: usize) -> String {
    format!("{distance} ahead")
}

/// Checks that a series was measured in pages of 4 KiB: few larger pages hold all nodes.
fn in_small_pages(e: &Evidence<'_>, series: &str) -> Testable<()> {
    let points = e.points.iter().filter(|point| point.series == series);
    let mut measured = points.filter_map(Point::measured);
    let larger = |of: &&Measured| ["2 MiB", "1 GiB"].iter().any(|with| of.pages.starts_with(with));
    match measured.find(larger) {
        Some(of) => Err(Untestable(format!(
            "the walks are in pages of {}, and the claim is about pages of 4 KiB",
            of.pages
        ))),
        None => Ok(()),
    }
}

/// Judges that a walk in memory with a prefetch at `distance` takes more than 3 % longer than with the best
/// of the distances between the first and the last.
fn over_best(e: &Evidence<'_>, distance: usize) -> Judged {
    let x = e.machine.memory_size()?;
    let time = |distance: usize| e.at(&ahead(distance), x);
    let [_, between @ .., _] = DISTANCES;
    let mut best = *time(FIVE)?;
    for distance in between {
        best = best.least(*time(distance)?);
    }
    let what = format!("{distance} ahead over the best of 2 to 16");
    at_least(&what, ratio(time(distance), best), 1.03)
}

/// Returns a walk of `bytes` with `work` multiplications at each node, which decide the next node. It
/// prefetches as `ahead` says, if given.
fn setup(machine: &Machine, bytes: usize, work: u32, ahead: Option<Ahead>) -> PrefetchSetup {
    let list = WalkSetup::random(NODE, bytes, machine.seed);
    PrefetchSetup { list, ahead, work, pace: Dependence::Serial }
}

/// Returns a `prefetcht0` of the node that many nodes ahead.
const fn by_t0(elements: usize) -> Option<Ahead> {
    Some(Ahead { hint: Hint::T0, elements })
}

/// Returns the walks with half and twice as many lines on the way as L1d has: of each node one is prefetched.
fn far_ahead(machine: &Machine) -> [Case; 2] {
    let l1 = machine.data_cache(1).map_or(32 << 10, |cache| cache.size);
    let lines = l1 as usize / LINE;
    [(HALF, lines / 2), (TWICE, lines * 2)].map(|(series, elements)| {
        let bytes = machine.in_memory();
        let setup = setup(machine, bytes, WORK, by_t0(elements));
        Case::new(series, bytes as f64, setup).in_turn().in_huge_pages()
    })
}

fn cases(machine: &Machine) -> Vec<Case> {
    let case = |series: &str, bytes: usize, ahead| {
        Case::new(series, bytes as f64, setup(machine, bytes, WORK, ahead)).in_turn()
    };
    let overlapped = |series: &str, bytes: usize, ahead| {
        let setup = setup(machine, bytes, WORK, ahead);
        let setup = PrefetchSetup { pace: Dependence::Independent, ..setup };
        Case::new(series, bytes as f64, setup).in_turn()
    };
    let five = by_t0(FIVE);
    let hinted = |bytes| {
        HINTED.map(|(series, hint)| case(series, bytes, Some(Ahead { hint, elements: FIVE })))
    };
    let sizes = machine.few_working_sets(2).into_iter().rev();
    let mut cases = Vec::new();
    // Compared walks are measured one after the other. A quick run measures the other hints only at
    // the largest size, where they are judged. It measures the overlapped walks, which no claim
    // needs, at every second size.
    for (index, bytes) in sizes.enumerate() {
        cases.push(case(PLAIN, bytes, None));
        cases.push(case(&ahead(FIVE), bytes, five));
        if machine.full || index == 0 {
            cases.extend(hinted(bytes));
        }
        if machine.full || index % 2 == 0 {
            cases.push(overlapped(OVERLAPPED, bytes, None));
            cases.push(overlapped(OVERLAPPED_AHEAD, bytes, five));
        }
    }
    for distance in DISTANCES.into_iter().filter(|distance| *distance != FIVE) {
        cases.push(case(&ahead(distance), machine.in_memory(), by_t0(distance)));
    }
    if machine.full {
        cases.extend(far_ahead(machine));
    }
    cases
}
