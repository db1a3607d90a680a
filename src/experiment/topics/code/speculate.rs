//! Drepper 6.3.3, speculation: loads that are done before an earlier store.

use crate::experiment::prelude::*;
use crate::kernel::{Issue, Kernel, Speculate, SpeculateMiss};
use crate::measure::Shot;
use crate::mem::{PAGE, Region};
use crate::pattern::{Layout, Order, Ring};
use core::hint::black_box;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[SPECULATION];

const FREE: &str = "address known early";
const ORDERED: &str = "address waits for the store's";
const MISS_FREE: &str = "both miss, address known early";
const MISS_ORDERED: &str = "both miss, address waits for the store's";

/// Of 256 loads, those that share their place with the store.
const SHARED: [usize; 7] = [0, 1, 4, 16, 64, 128, 256];

/// Where these stand on the axis: in percent.
fn percent(shared: usize) -> f64 {
    (shared * 100) as f64 / 256.0
}

const NEVER: f64 = 0.0;
const SOMETIMES: f64 = 6.25;
const ALWAYS: f64 = 100.0;

const SPECULATION: Experiment = Experiment {
    id: "E41",
    name: "drepper-speculative-loads",
    title: "A load behind a store whose address is not known yet",
    question: "Does a load wait until it is known where an earlier store goes?",
    source: "Drepper 6.3.3: IA-64 has an advanced load and its check (ld8.a, ld8.c.clr) to have a \
             load start before a store that may be of the same place",
    seen: &[],
    about: "x86 has no instructions for it. Since Core 2 (2006) a CPU that runs out of order \
            predicts that a load is of another place, loads at once, and begins again from there \
            if the store turns out to have been of the same place. Where every load is of the \
            place just stored to, the predictor learns that as well: a CPU then keeps the load \
            back until the store's address is known, and takes the sum of both waits, or, as AMD's \
            since Zen 3 (predictive store forwarding), predicts the pair and hands the value over \
            before either address is known. One shared place makes the loads behind it wait too, \
            until the predictor trusts them again.",
    plot: Some(Plot::lines(
        Axis::linear("loads of the place just stored to, %"),
        Axis::linear("a store, a load, and what each waits for"),
        Unit::CoreCycles,
    )),
    cases,
    curves: plain_curves,
    events: events::FORWARDING,
    claims: &[
        measured(
            "E41.1",
            ours(
                "the document says that a load cannot be moved in front of a store whose address \
                 may be the same, unless the program speculates as on IA-64: do CPUs of x86 do it \
                 by themselves?",
            ),
            "a load of another place than an earlier store does not wait for the store's address: \
             both waits take less than three quarters of what they take one after the other",
            |e| {
                at_most(
                    "early over ordered",
                    ratio(e.at(FREE, NEVER), e.at(ORDERED, NEVER)),
                    0.75,
                )
            },
        ),
        measured(
            "E41.2",
            ours("the document's case is a load that misses"),
            "a load that misses does not wait for the address of an earlier store that misses, \
             too: both take less than three quarters of what they take one after the other",
            |e| {
                e.machine.place_in_memory(e.machine.in_memory())?;
                let free = ratio(e.at(MISS_FREE, NEVER), e.at(MISS_ORDERED, NEVER))?;
                at_most("early over ordered, both miss", free, 0.75)
            },
        ),
        measured(
            "E41.3",
            ours("where the places are the same, the load must not be early: what does that cost?"),
            "a load of the place just stored to takes 1.5 times as long as one of another place, \
             or longer",
            |e| {
                at_least(
                    "shared over apart",
                    ratio(e.at(FREE, ALWAYS), e.at(FREE, NEVER)),
                    1.5,
                )
            },
        )
        .failing("The CPU hands the stored value over before both addresses are known."),
        measured(
            "E41.4",
            ours("a CPU that predicts where stores go has to be wrong now and then"),
            "where one load in 16, at random, is of the place just stored to, all of them take \
             1.2 times as long on average, or longer",
            |e| {
                let slower = ratio(e.at(FREE, SOMETIMES), e.at(FREE, NEVER))?;
                at_least("one in 16 shared over apart", slower, 1.2)
            },
        ),
    ],
};

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let chain = |series, issue, shared| {
        let setup = SpeculateSetup {
            issue,
            shared,
            seed,
        };
        Case::new(series, percent(shared), setup).in_turn()
    };
    let mut cases = Vec::new();
    for shared in SHARED {
        cases.push(chain(FREE, Issue::Free, shared));
        cases.push(chain(ORDERED, Issue::Ordered, shared));
    }
    for (series, issue) in [(MISS_FREE, Issue::Free), (MISS_ORDERED, Issue::Ordered)] {
        let setup = SpeculateMissSetup {
            issue,
            working_set: machine.in_memory(),
            seed,
        };
        cases.push(Case::new(series, NEVER, setup).in_turn());
    }
    cases
}

/// A store that waits for a chain of multiplications, and a load.
///
/// What a predictor has learnt of them stays for as long as nothing else happens, and some settle
/// now in one way and now in another. So each stretch begins anew: with loads of another place, to
/// unlearn, and then with as many of its own as are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeculateSetup {
    /// Whether the load's address is known early.
    pub issue: Issue,
    /// Of 256 loads, how many are of the place just stored to.
    pub shared: usize,
    /// Decides which ones.
    pub seed: u64,
}

/// Operations of a stretch, and of what comes before it: four rounds over all places.
const STRETCH: u64 = 1024;

impl Setup for SpeculateSetup {
    fn bytes(&self) -> usize {
        2 * Speculate::BYTES.next_multiple_of(PAGE)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let (first, second) = region
            .split(Speculate::BYTES.next_multiple_of(PAGE))
            .ok_or_else(|| Untestable("no room for places apart".to_owned()))?;
        let speculate = |region, shared| Speculate::new(region, self.issue, shared, self.seed);
        let shot = SpeculateShot {
            apart: speculate(first, 0)?,
            shared: speculate(second, self.shared)?,
        };
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

/// A store that waits for a node of a random list, and a load of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeculateMissSetup {
    /// Whether the load's address is known early.
    pub issue: Issue,
    /// Bytes of all nodes together.
    pub working_set: usize,
    /// Decides their order.
    pub seed: u64,
}

/// Two lines, of which the first is loaded: half as many nodes to lay out.
const NODE: Layout = Layout::npad(15);

impl Setup for SpeculateMissSetup {
    fn bytes(&self) -> usize {
        self.working_set
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let count = NODE.count(self.working_set);
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(region, NODE, count, order)?;
        let speculate = SpeculateMiss::new(ring, self.issue)?;
        // Either walk comes to half of the nodes.
        Ok(Workload::steady(speculate, count as u64 / 2))
    }
}
