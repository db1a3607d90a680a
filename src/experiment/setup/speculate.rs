//! Loads behind stores whose addresses come late.

use core::hint::black_box;

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Issue, Kernel, Speculate, SpeculateMiss};
use crate::measure::Shot;
use crate::mem::{PAGE, Region};
use crate::pattern::{Layout, Order, Ring};

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

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let (first, second) = region
            .split(Speculate::BYTES.next_multiple_of(PAGE))
            .ok_or_else(|| Untestable("no room for places apart".to_owned()))?;
        let speculate = |region, shared| {
            Speculate::new(region, self.issue, shared, self.seed).map_err(Untestable::because)
        };
        let shot = SpeculateShot {
            apart: speculate(first, 0)?,
            shared: speculate(second, self.shared)?,
        };
        let work = shot.shared.work();
        Ok(Subject::Shot {
            shot: Box::new(shot),
            work,
        })
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

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let count = NODE.count(self.working_set);
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(region, NODE, count, order).map_err(Untestable::because)?;
        let speculate = SpeculateMiss::new(ring, self.issue).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(speculate),
            // Either walk comes to half of the nodes.
            lap: count as u64 / 2,
        })
    }
}
