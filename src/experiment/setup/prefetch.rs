//! Walks with work at every node and a prefetch ahead.

use crate::cpu::{Feature, Hint};
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Ahead, Pace, PrefetchWalk};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring, the work at each node, and what is prefetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefetchSetup {
    /// Where the elements lie.
    pub layout: Layout,
    /// Bytes of all elements together.
    pub working_set: usize,
    /// In which order they are visited.
    pub order: Order,
    /// What is prefetched, if anything.
    pub ahead: Option<Ahead>,
    /// Dependent multiplications a node, 3 core cycles each.
    pub work: u32,
    /// Whether the work can overlap the next node's miss.
    pub pace: Pace,
}

impl Setup for PrefetchSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.layout.count(self.working_set))
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let writes = self.ahead.is_some_and(|ahead| ahead.hint == Hint::Write);
        if writes && !context.features.has(Feature::Prefetchw) {
            return Err(Untestable(
                "this CPU takes prefetchw for a no-op".to_owned(),
            ));
        }
        let count = self.layout.count(self.working_set);
        let ring =
            Ring::new(region, self.layout, count, self.order).map_err(Untestable::because)?;
        let walk = PrefetchWalk::new(ring, self.ahead, self.work, self.pace)
            .map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(walk),
            lap: count as u64,
        })
    }
}
