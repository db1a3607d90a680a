//! Drepper's list walks.

use crate::experiment::machine::predict::{Places, in_order, random};
use crate::experiment::prelude::*;
use crate::kernel::{Step, Walk};
use crate::mem::{LINE, Region};
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
    /// What is done to each element.
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

    /// Where the elements lie, for predictions. Elements that straddle lines, or that are read in two
    /// places of several lines, are not predicted.
    fn places(&self) -> Option<Places> {
        let layout = self.layout;
        let element = layout.element();
        let dense = layout == Layout::npad(layout.padding());
        let apart = Layout::npad(layout.padding()).spaced(layout.stride());
        let rotating = layout == apart.rotating();
        let one_line = element <= LINE || matches!(self.step, Step::Follow | Step::Inc);
        let known = dense || ((layout == apart || rotating) && element == LINE);
        (known && one_line).then_some(Places {
            count: self.count,
            stride: layout.stride(),
            rotating,
        })
    }

    /// The same walk with another step.
    pub fn with(self, step: Step) -> Self {
        WalkSetup { step, ..self }
    }
}

impl Setup for WalkSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let ring = Ring::new(region, self.layout, self.count, self.order)?;
        let walk = Walk::new(ring, self.step)?;
        Ok(Workload::steady(walk, self.count as u64))
    }

    /// A step that writes waits for the same load, but its lines go back.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = self.places()?;
        let stores = self.step != Step::Follow;
        match self.order {
            Order::Random { .. } => random(parameters, places, None),
            Order::RandomInBlocks { pages, .. } => random(parameters, places, Some(pages)),
            Order::Sequential | Order::Backward => in_order(parameters, places, stores),
            // All elements are visited, in so many rounds.
            Order::Strided { elements } => {
                let stride = elements * places.stride;
                in_order(parameters, Places { stride, ..places }, stores)
            }
            _ => None,
        }
    }
}
