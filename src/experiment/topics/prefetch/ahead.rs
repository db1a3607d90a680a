//! Walks with work at every node and a prefetch ahead.

use crate::cpu::{Feature, Hint};
use crate::experiment::machine::predict::{Places, random};
use crate::experiment::prelude::*;
use crate::kernel::{Ahead, Dependence, PrefetchWalk};
use crate::mem::Region;
use crate::model::step_with_prefetch;
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
    /// Dependent multiplications per node, 3 core cycles each.
    pub work: u32,
    /// Whether the work can overlap the next node's miss.
    pub pace: Dependence,
}

impl Setup for PrefetchSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.layout.count(self.working_set))
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let writes = self.ahead.is_some_and(|ahead| ahead.hint == Hint::Write);
        if writes && !context.features.has(Feature::Prefetchw) {
            return Err(Untestable(
                "this CPU executes prefetchw as a no-op".to_owned(),
            ));
        }
        let count = self.layout.count(self.working_set);
        let ring = Ring::new(region, self.layout, count, self.order)?;
        let walk = PrefetchWalk::new(ring, self.ahead, self.work, self.pace)?;
        Ok(Workload::steady(walk, count as u64))
    }

    /// Predicts only walks whose work does not overlap the next node's miss. How far work
    /// overlaps a miss depends on the CPU's queues.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let dense = self.layout == Layout::npad(self.layout.padding());
        let random_order = matches!(self.order, Order::Random { .. });
        (dense && random_order && self.pace == Dependence::Serial).then_some(())?;
        let places = Places {
            count: self.layout.count(self.working_set),
            stride: self.layout.stride(),
            rotating: false,
        };
        let step = random(parameters, places, None)?;
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
