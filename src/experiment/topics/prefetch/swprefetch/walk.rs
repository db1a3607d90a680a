//! Figure 6.7: a random walk with work at each node, and the ways to prefetch ahead of it.

use crate::cpu::Hint;
use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::ahead::PrefetchSetup;
use crate::kernel::{Ahead, Dependence};
use crate::pattern::{Layout, Order};

/// The paper's distance.
const FIVE: usize = 5;

/// The distances of the sweep, in memory alone. E27 has those between.
pub(crate) const DISTANCES: [usize; 6] = [1, 2, 5, 8, 16, 128];

/// Multiplications a node: 53 dependent ones take 159 core cycles, the paper's 160.
pub(crate) const WORK: u32 = 53;

pub(crate) const PLAIN: &str = "no prefetch";
const OVERLAPPED: &str = "no prefetch, work overlaps the miss";
const OVERLAPPED_AHEAD: &str = "5 ahead, work overlaps the miss";

/// The other hints, five ahead.
const HINTED: [(&str, Hint); 4] = [
    ("5 ahead by prefetcht1", Hint::T1),
    ("5 ahead by prefetcht2", Hint::T2),
    ("5 ahead by prefetchnta", Hint::Nta),
    ("5 ahead by prefetchw", Hint::Write),
];

pub(crate) const FIG_6_7: Experiment = Experiment {
    id: "E37",
    name: "drepper-fig-6.7",
    title: "A random walk with work at each node, and a prefetch ahead of it",
    question: "How much of a miss does a software prefetch hide behind 160 cycles of work?",
    source: "Drepper 6.3.2, Figure 6.7: 128-byte elements, about 160 cycles of work a node, the \
             node 5 ahead is prefetched; ours finds it by a jump pointer in the node",
    seen: &[],
    about: "At a distance of latency over work the miss is gone, as long as the core can have \
            that many misses in flight. Where work decides which node is next, even the way from \
            L2 can be hidden. A core that runs out of order fetches the next node while it works, \
            if the work does not decide which node that is; the curves say which is which. Work \
            that decides it is the document's case, and the case that is judged. Too far ahead is \
            dearer again, first by the L1 dTLB: its translations are gone before the node is \
            visited.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-6.7.csv",
        machine: "512 KiB L2 (2007)",
        x: "working_set_bytes",
        columns: &[("One Thread", "no prefetch"), ("With Prefetch", "5 ahead")],
    }]),
    cases,
    curves: plain_curves,
    events: events::PREFETCHES,
    claims: &[
        // As long as the working set does not exceed the last level the numbers are identical: the
        // prefetches add no measurable burden.
        measured(
            "E37.1",
            drepper("6.3.2, Figure 6.7"),
            "in L1d and L2 a prefetch 5 nodes ahead changes the time per node of a random walk by \
             less than 3 %",
            |e| {
                let mut parts = Vec::new();
                for (name, range) in [("L1d", e.machine.ranges.l1), ("L2", e.machine.ranges.l2)] {
                    let change = paired(e, &ahead(FIVE), PLAIN, range)?;
                    parts.push(between(
                        &format!("prefetch over none, {name}"),
                        change,
                        0.97,
                        1.03,
                    ));
                }
                all_of(parts)
            },
        )
        .then_between(0.98, 1.0, "512 KiB L2 (2007)"),
        // Beyond L2 prefetching saves 50 to 60 cycles, up to 8 %.
        measured(
            "E37.2",
            drepper("6.3.2, Figure 6.7"),
            "in memory a prefetch 5 nodes ahead saves more than 5 % of the time per node of a \
             random walk",
            |e| {
                let memory = e.machine.ranges.memory;
                at_most(
                    "prefetch over none",
                    paired(e, &ahead(FIVE), PLAIN, memory),
                    0.95,
                )
            },
        )
        .then_between(0.92, 0.97, "512 KiB L2 (2007)")
        .takeaway(
            Takeaway::new(
                Shown::Saved,
                Touches::Many,
                "Saved by software prefetch on a random list",
                "Software prefetch saves {now} of the time of a walk through a random list in \
                 memory",
            )
            .advice(
                "Prefetch where you know addresses several steps ahead, and tune the distance.",
                "Leave software prefetch out of such walks unless you measure a gain.",
            ),
        )
        .holding(
            "What it saves is bound by the misses that the core and its memory can have in \
             flight.",
        ),
        measured(
            "E37.3",
            ours("the document measured one hint"),
            "in memory prefetcht1, prefetcht2 and prefetchnta 5 nodes ahead save more than 5 % of \
             the time per node of a random walk",
            |e| {
                let mut parts = Vec::new();
                for (series, hint) in &HINTED[..3] {
                    let change = paired(e, series, PLAIN, e.machine.ranges.memory)?;
                    parts.push(at_most(&format!("{} over none", hint.name()), change, 0.95));
                }
                all_of(parts)
            },
        )
        .holding(
            "A hint that the CPU drops may do that, too: it still brings the translation, and \
             hides the page walk without the miss.",
        ),
        // prefetchw prefetches the line into L1 just like the other prefetch instructions.
        measured(
            "E37.4",
            drepper("6.3.2"),
            "in memory a random walk takes as long with prefetchw 5 nodes ahead as with \
             prefetcht0, to within a tenth",
            |e| {
                let memory = e.machine.ranges.memory;
                let change = paired(e, HINTED[3].0, &ahead(FIVE), memory)?;
                between("prefetchw over prefetcht0", change, 0.9, 1.1)
            },
        ),
        // Too little and the memory is not loaded in time; too far and the line may have been
        // evicted again.
        measured(
            "E37.5",
            drepper("6.3.4"),
            "in memory there is a best distance: a random walk takes more than 3 % longer with a \
             prefetch 1 node ahead, and 128 ahead, than with the best between them",
            |e| {
                let x = e.machine.place_in_memory(e.machine.in_memory())?;
                let time = |distance: usize| e.at(&ahead(distance), x);
                let [nearest, between @ .., farthest] = DISTANCES;
                let mut best = time(FIVE)?;
                for distance in between {
                    best = best.least(time(distance)?);
                }
                let slower = |end: usize| {
                    let what = format!("{end} ahead over the best between");
                    at_least(&what, ratio(time(end), best), 1.03)
                };
                all_of([slower(nearest), slower(farthest)])
            },
        ),
    ],
};

fn ahead(distance: usize) -> String {
    format!("{distance} ahead")
}

/// A walk of `bytes` with `work` multiplications at each node, and a prefetch of this many nodes
/// ahead, if any.
pub(crate) fn setup(
    machine: &Machine,
    bytes: usize,
    work: u32,
    ahead: Option<Ahead>,
    pace: Dependence,
) -> PrefetchSetup {
    PrefetchSetup {
        layout: Layout::npad(15),
        working_set: bytes,
        order: Order::Random { seed: machine.seed },
        ahead,
        work,
        pace,
    }
}

fn cases(machine: &Machine) -> Vec<Case> {
    let case = |series: &str, bytes: usize, ahead, pace| {
        let setup = setup(machine, bytes, WORK, ahead, pace);
        Case::new(series, bytes as f64, setup).in_turn()
    };
    let by = |hint, elements| Some(Ahead { hint, elements });
    let five = by(Hint::T0, FIVE);
    let hinted = |bytes| {
        HINTED.map(|(series, hint)| case(series, bytes, by(hint, FIVE), Dependence::Serial))
    };
    let sizes = machine.few_working_sets(2).into_iter().rev();
    let mut cases = Vec::new();
    // Those that are compared are measured one after the other. No claim is about the overlapped
    // walks, so half of the sizes do, the largest among them; the other hints are judged there.
    for (index, bytes) in sizes.enumerate() {
        cases.push(case(PLAIN, bytes, None, Dependence::Serial));
        cases.push(case(&ahead(FIVE), bytes, five, Dependence::Serial));
        if machine.full || index == 0 {
            cases.extend(hinted(bytes));
        }
        if machine.full || index % 2 == 0 {
            cases.push(case(OVERLAPPED, bytes, None, Dependence::Independent));
            cases.push(case(OVERLAPPED_AHEAD, bytes, five, Dependence::Independent));
        }
    }
    for distance in DISTANCES.into_iter().filter(|distance| *distance != FIVE) {
        let ahead_by = by(Hint::T0, distance);
        cases.push(case(
            &ahead(distance),
            machine.in_memory(),
            ahead_by,
            Dependence::Serial,
        ));
    }
    cases
}
