//! Drepper 6.3.3, speculation: loads that execute before an earlier store.

use crate::experiment::prelude::*;
use crate::kernel::{Issue, Kernel, Speculate, SpeculateMiss};
use crate::measure::Shot;
use crate::pattern::{Layout, Order, Ring};
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[SPECULATION];

const FREE: &str = "address known early";
const ORDERED: &str = "address waits for the store's";
const MISS_FREE: &str = "both miss, address known early";
const MISS_ORDERED: &str = "both miss, address waits for the store's";

/// How many of 256 loads read the location of the store.
const SHARED: [usize; 7] = [0, 1, 4, 16, 64, 128, 256];

/// Returns the place on the axis: the share of these loads, in percent.
fn percent(shared: usize) -> f64 {
    (shared * 100) as f64 / 256.0
}

const NEVER: f64 = 0.0;
const SOMETIMES: f64 = 6.25;
const ALWAYS: f64 = 100.0;

const SPECULATION: Experiment = Experiment {
    id: "E41",
    name: "drepper-speculative-loads",
    title: "A load after a store whose address is not known yet",
    question: "Does a load wait until the address of an earlier store is known?",
    source: "Drepper 6.3.3: on IA-64 an advanced load and its check (ld8.a, ld8.c.clr) let a load \
             start before a store that may write the same location",
    about: "Each operation is a store whose address takes long to compute, and a later load. The \
            axis is the share of loads that read the location just stored to. x86 has no \
            instructions for such speculation. Since Core 2 (2006), out-of-order CPUs predict \
            that a load reads another location, load at once, and restart from the load if the \
            store turns out to write the same location. If every load reads the stored location, \
            the predictor learns this as well. A CPU then delays the load until the store's \
            address is known, so that both waits add up, or predicts the pair and forwards the \
            value before either address is known, as AMD does since Zen 3 (predictive store \
            forwarding). One shared location also delays the following loads, until the predictor \
            trusts them again.",
    plot: Some(Plot::cycles(
        Axis::linear("loads of the location just stored to, %"),
        Axis::linear("time per store and load, with the waits of both"),
    )),
    cases,
    events: events::FORWARDING,
    claims: &[
        measured(
            "E41.1",
            ours(
                "the document says that a load cannot move ahead of a store that may write the \
                 same location, unless the program speculates as on IA-64: do x86 CPUs speculate \
                 by themselves?",
            ),
            "a load of another location than an earlier store does not wait for the store's \
             address: both waits together take less than three quarters of their time in sequence",
            |e| at_most("early over ordered", ratio(e.at(FREE, NEVER), e.at(ORDERED, NEVER)), 0.75),
        ),
        measured(
            "E41.2",
            ours("in the document's case the load misses"),
            "a load that misses does not wait for the address of an earlier store that also waits \
             for a miss: both misses together take less than three quarters of their time in \
             sequence",
            |e| {
                e.machine.memory_size()?;
                let free = ratio(e.at(MISS_FREE, NEVER), e.at(MISS_ORDERED, NEVER))?;
                at_most("early over ordered, both miss", free, 0.75)
            },
        ),
        measured(
            "E41.3",
            ours("a load of the stored location must not be early: what does the wait cost?"),
            "a load of the location just stored to takes at least 1.5 times as long as a load of \
             another location",
            |e| at_least("shared over apart", ratio(e.at(FREE, ALWAYS), e.at(FREE, NEVER)), 1.5),
        )
        .failing("The CPU forwards the stored value before both addresses are known."),
        measured(
            "E41.4",
            ours("a CPU that predicts the targets of stores must be wrong at times"),
            "if one random load in 16 reads the location just stored to, all loads take at least \
             1.2 times as long on average",
            |e| {
                let slower = ratio(e.at(FREE, SOMETIMES), e.at(FREE, NEVER))?;
                at_least("one in 16 shared over apart", slower, 1.2)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let chain = |series, issue, shared| {
        Case::new(series, percent(shared), SpeculateSetup { issue, shared, seed }).in_turn()
    };
    let mut cases = Vec::new();
    for shared in SHARED {
        cases.push(chain(FREE, Issue::Free, shared));
        cases.push(chain(ORDERED, Issue::Ordered, shared));
    }
    for (series, issue) in [(MISS_FREE, Issue::Free), (MISS_ORDERED, Issue::Ordered)] {
        let setup = SpeculateMissSetup { issue, working_set: machine.in_memory(), seed };
        cases.push(Case::new(series, NEVER, setup).in_turn());
    }
    cases
}

/// A store whose address waits for a chain of multiplications, and a load.
///
/// A predictor keeps what it has learnt, and some predictors settle in different ways. Each sample
/// therefore starts with loads of another location, so that the predictor unlearns, and then runs
/// as many of its own operations as are timed afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeculateSetup {
    /// Whether the load's address is known early.
    pub issue: Issue,
    /// How many of 256 loads read the location just stored to.
    pub shared: usize,
    /// Decides which loads read this location.
    pub seed: u64,
}

/// Operations of the timed stretch, and of each of the two stretches before it: four rounds over
/// all locations.
const STRETCH: u64 = 1024;

impl Setup for SpeculateSetup {
    fn bytes(&self) -> usize {
        2 * Speculate::BYTES.next_multiple_of(PAGE)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let (first, second) = region
            .split(Speculate::BYTES.next_multiple_of(PAGE))
            .ok_or_else(|| Untestable("the memory holds no two separate locations".to_owned()))?;
        let speculate = |region, shared| Speculate::new(region, self.issue, shared, self.seed);
        let shot =
            SpeculateShot { apart: speculate(first, 0)?, shared: speculate(second, self.shared)? };
        let work = shot.shared.work();
        Ok(Workload::shot(shot, work))
    }
}

struct SpeculateShot<'m> {
    apart: Speculate<'m>,
    shared: Speculate<'m>,
}

impl Shot for SpeculateShot<'_> {
    fn prepare(&mut self) {
        black_box(self.apart.run(STRETCH));
        black_box(self.shared.run(STRETCH));
    }

    fn shoot(&mut self) -> u64 {
        self.shared.run(STRETCH)
    }

    fn operations(&self) -> u64 {
        STRETCH
    }
}

/// A store whose address waits for a node of a random list, and a load of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeculateMissSetup {
    /// Whether the load's address is known early.
    pub issue: Issue,
    /// Bytes of all nodes together.
    pub working_set: usize,
    /// Decides the order of the nodes.
    pub seed: u64,
}

/// A node of two lines. Only the first is loaded; the second halves the number of nodes to lay out.
const NODE: Layout = Layout::npad(15);

impl Setup for SpeculateMissSetup {
    fn bytes(&self) -> usize {
        self.working_set
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let count = NODE.count(self.working_set);
        let ring = Ring::new(region, NODE, count, Order::Random { seed: self.seed })?;
        let speculate = SpeculateMiss::new(ring, self.issue)?;
        // Each of the two walks visits half of the nodes.
        Ok(Workload::steady(speculate, count as u64 / 2))
    }
}
