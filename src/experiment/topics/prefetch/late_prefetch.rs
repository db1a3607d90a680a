//! Drepper 6.3.2 and 7.1: useful and late software prefetches.

use crate::cpu::Hint;
use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::ahead::PrefetchSetup;
use crate::kernel::{Ahead, Dependence};
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[COUNTED];

const IN_MEMORY: &str = "in memory";
const IN_L1: &str = "in L1d";

/// Nodes ahead.
const DISTANCES: [usize; 5] = [1, 2, 5, 8, 16];

/// The document's distance.
const FIVE: f64 = 5.0;

/// Multiplications per node, 159 core cycles in all: those of Figure 6.7.
const WORK: u32 = 53;

const COUNTED: Experiment = Experiment {
    id: "E40",
    name: "prefetch-counters",
    title: "Useful, late and idle software prefetches, counted",
    question: "How many software prefetches fetch a line, and how many of them come too late?",
    source: "Drepper 6.3.2 and 7.1: of the software prefetches of a matrix multiplication, 2.84 % \
             were useful and 2.65 % late; late prefetches are 48 % of the two together",
    seen: &[],
    about: "The walk is the random walk of Figure 6.7 with one prefetch per node, so events per \
            step are events per prefetch. The axis is the number of nodes between the walk and \
            its prefetch. A prefetch is late if its line is under way when the program \
            loads it; it then hides only a part of the miss. At short distances most prefetches \
            should be late, at long distances few. Intel counts loads that meet a late prefetch; \
            AMD has no such event. AMD counts prefetches that fetched nothing; Intel since Ice \
            Lake counts prefetches that found their line in L2.",
    plot: Some(Plot::lines(
        Axis::log("nodes ahead"),
        Axis::log("time per step"),
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
                "the event must count the prefetches of a walk with a known number of them, or \
                 the other counts mean nothing",
            ),
            "a walk with one prefetch per node counts 0.98 to 1.02 software prefetches per step",
            |e| {
                let executed = e.count(IN_MEMORY, FIVE, Quantity::SoftwarePrefetches)?;
                between("prefetches per step", executed, 0.98, 1.02)
            },
        ),
        counted(
            "E40.2",
            ours(
                "the document counts useful prefetches: the event must tell a list in memory from \
                 a list in L1d",
            ),
            "of the software prefetches 5 nodes ahead of a random walk, more than half fetch a \
             line if the list lies in memory, and fewer than 5 % if it lies in L1d",
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
            ours("the event must tell a distance that is too short from one that is long enough"),
            "of the software prefetches of a random walk in memory, more than half are late 1 \
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
                "section 7.1 of the document found 48 % late in another program, a matrix \
                 multiplication",
            ),
            "of the software prefetches 5 nodes ahead of a random walk in memory, 30 to 66 % are \
             late",
            |e| between("late 5 ahead", late(e, FIVE), 0.3, 0.66),
        ),
    ],
};

/// Loads per step that met a prefetch on its way, with the list in memory.
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
