//! Walks that read every field.

use crate::experiment::predict::{Places, in_order, random};
use crate::experiment::{Context, Forecast, Parameters, Setup, Subject, Untestable};
use crate::kernel::{Direction, Fields};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring of line-sized elements, each read wholly before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldsSetup {
    /// Bytes of all elements together.
    pub working_set: usize,
    /// In which order the elements are visited.
    pub order: Order,
    /// In which order the fields are read.
    pub direction: Direction,
}

/// One line.
const LINE_ELEMENT: Layout = Layout::npad(7);

impl Setup for FieldsSetup {
    fn bytes(&self) -> usize {
        self.working_set
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let count = LINE_ELEMENT.count(self.working_set);
        let ring =
            Ring::new(region, LINE_ELEMENT, count, self.order).map_err(Untestable::because)?;
        let fields = Fields::new(ring, self.direction).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(fields),
            lap: count as u64,
        })
    }

    /// The line comes once; the other fields are there with it.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places::lines(LINE_ELEMENT.count(self.working_set));
        match self.order {
            Order::Random { .. } => random(parameters, places, None),
            Order::Sequential => in_order(parameters, places, false),
            _ => None,
        }
    }
}
