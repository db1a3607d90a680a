//! Drepper 6.3.2 and 7.1: software prefetches that are useful, and those that come late.

use crate::counters::Quantity;
use crate::cpu::Hint;
use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::ahead::PrefetchSetup;
use crate::kernel::{Ahead, Dependence};
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[COUNTED];

const IN_MEMORY: &str = "in memory";
const IN_L1: &str = "in L1d";

/// Nodes ahead.
const DISTANCES: [usize; 5] = [1, 2, 5, 8, 16];

/// The document's distance.
const FIVE: f64 = 5.0;

/// Multiplications a node, 159 core cycles of them: those of Figure 6.7.
const WORK: u32 = 53;

const COUNTED: Experiment = Experiment {
    id: "E40",
    name: "prefetch-counters",
    title: "Software prefetches counted: useful, late, idle",
    question: "How many software prefetches fetch a line, and how many of those come too late?",
    source: "Drepper 6.3.2 and 7.1: of the software prefetches of a matrix multiplication 2.84 % \
             were useful and 2.65 % late, so that 48 % of those that did something came too late",
    seen: &[],
    about: "A late prefetch is one whose line is on its way when the program wants it: it saves a \
            part of the miss. Intel counts the loads that meet one, AMD does not; AMD counts those \
            that brought nothing, and so does Intel since Ice Lake by those that L2 had. The walk \
            is that of Figure 6.7, with one prefetch a node, so that an event a step is an event a \
            prefetch, and the distance decides which of them are late.",
    plot: Some(Plot::lines(
        Axis::log("nodes ahead"),
        Axis::log("a step"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let mut cases: Vec<Case> = DISTANCES
            .into_iter()
            .map(|ahead| case(IN_MEMORY, ahead, machine.in_memory(), machine))
            .collect();
        let near = machine.middle_of(machine.ranges.l1);
        cases.push(case(IN_L1, FIVE as usize, near, machine));
        cases
    },
    curves: plain_curves,
    events: events::PREFETCHES,
    claims: &[
        counted(
            "E40.1",
            ours(
                "an event that does not count the prefetches of a known walk counts something \
                 else",
            ),
            "every step of a walk that prefetches a node is counted as one software prefetch, \
             within 2 %",
            |e| {
                let executed = e.count(IN_MEMORY, FIVE, Quantity::SoftwarePrefetches)?;
                between("prefetches a step", executed, 0.98, 1.02)
            },
        ),
        counted(
            "E40.2",
            ours(
                "the document wants useful prefetches counted: the event must tell a walk in \
                 memory from one in L1d",
            ),
            "of the software prefetches 5 nodes ahead of a random walk, more than half fetch a \
             line in memory, and fewer than 5 % in L1d",
            |e| {
                let useful = |series| e.count(series, FIVE, Quantity::UsefulPrefetches);
                all_of([
                    at_least("useful in memory", useful(IN_MEMORY), 0.5),
                    at_most("useful in L1d", useful(IN_L1), 0.05),
                ])
            },
        ),
        counted(
            "E40.3",
            ours(
                "the event of late prefetches must tell a distance that is too short from one \
                 that is enough",
            ),
            "of the software prefetches of a random walk in memory, more than half come late 1 \
             node ahead, and fewer than a tenth 16 nodes ahead",
            |e| {
                all_of([
                    at_least("late 1 ahead", late(e, 1.0), 0.5),
                    at_most("late 16 ahead", late(e, 16.0), 0.1),
                ])
            },
        ),
        counted(
            "E40.4",
            ours(
                "section 7.1 of the document counts 48 % late of the useful prefetches of another \
                 program, a matrix multiplication",
            ),
            "of the software prefetches 5 nodes ahead of a random walk in memory, 30 to 66 % come \
             late",
            |e| between("late 5 ahead", late(e, FIVE), 0.3, 0.66),
        ),
    ],
};

/// Loads that met a prefetch on its way, a step in memory.
fn late(e: &Evidence<'_>, ahead: f64) -> Result<Interval, Untestable> {
    e.count(IN_MEMORY, ahead, Quantity::LatePrefetches)
}

fn case(series: &str, elements: usize, bytes: usize, machine: &Machine) -> Case {
    let setup = PrefetchSetup {
        layout: Layout::npad(15),
        working_set: bytes,
        order: Order::Random { seed: machine.seed },
        ahead: Some(Ahead {
            hint: Hint::T0,
            elements,
        }),
        work: WORK,
        pace: Dependence::Serial,
    };
    Case::new(series, elements as f64, setup)
}
