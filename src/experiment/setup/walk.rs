//! Drepper's list walks.

use crate::experiment::predict::random_step;
use crate::experiment::{Context, Machine, Setup, Subject, Untestable};
use crate::kernel::{Step, Walk};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring and a walk along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WalkSetup {
    /// Where the elements lie.
    pub layout: Layout,
    /// How many there are.
    pub count: usize,
    /// In which order they are visited.
    pub order: Order,
    /// What is done to each.
    pub step: Step,
}

impl WalkSetup {
    /// A `Follow` of as many elements as add up to `working_set` bytes (at least one).
    pub fn follow(layout: Layout, working_set: usize, order: Order) -> Self {
        WalkSetup {
            layout,
            count: layout.count(working_set).max(1),
            order,
            step: Step::Follow,
        }
    }

    /// The same with another step.
    pub fn with(self, step: Step) -> Self {
        WalkSetup { step, ..self }
    }
}

impl Setup for WalkSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let ring =
            Ring::new(region, self.layout, self.count, self.order).map_err(Untestable::because)?;
        let walk = Walk::new(ring, self.step).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(walk),
            lap: self.count as u64,
        })
    }

    /// A random walk through elements that lie one after the other. A step that writes waits for
    /// the same load.
    fn predict(&self, machine: &Machine) -> Option<f64> {
        let dense = self.layout == Layout::npad(self.layout.padding());
        let random = matches!(self.order, Order::Random { .. });
        let alone = matches!(self.step, Step::Follow | Step::Inc);
        let element = self.layout.element();
        (dense && random && alone)
            .then(|| random_step(machine, self.count * element, element))
            .flatten()
    }
}
