//! Walks by addressing mode.

use crate::experiment::predict::{Places, random};
use crate::experiment::{Context, Forecast, Parameters, Setup, Subject, Untestable};
use crate::kernel::{Chase, Mode};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A random ring of lines, each load's address formed from the load before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChaseSetup {
    /// Bytes of all lines together.
    pub working_set: usize,
    /// The load.
    pub mode: Mode,
    /// Decides the order of the lines.
    pub seed: u64,
}

/// One line.
const LINE_ELEMENT: Layout = Layout::npad(7);

impl Setup for ChaseSetup {
    fn bytes(&self) -> usize {
        self.working_set
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let count = LINE_ELEMENT.count(self.working_set);
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(region, LINE_ELEMENT, count, order).map_err(Untestable::because)?;
        let chase = Chase::new(ring, self.mode, &context.features).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(chase),
            lap: count as u64,
        })
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places::lines(LINE_ELEMENT.count(self.working_set));
        random(parameters, places, None)
    }
}
