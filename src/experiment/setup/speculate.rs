//! Loads behind stores whose addresses come late.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Issue, Speculate, SpeculateMiss};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A store that waits for a chain of multiplications, and a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeculateSetup {
    /// Whether the load's address is known early.
    pub issue: Issue,
    /// Of 256 loads, how many are of the place just stored to.
    pub shared: usize,
    /// Decides which ones.
    pub seed: u64,
}

impl Setup for SpeculateSetup {
    fn bytes(&self) -> usize {
        Speculate::BYTES
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let speculate = Speculate::new(region, self.issue, self.shared, self.seed)
            .map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(speculate),
            lap: 256,
        })
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
