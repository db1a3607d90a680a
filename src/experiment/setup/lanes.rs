//! Rings that are walked side by side.

use crate::experiment::predict::{Places, in_flight, random};
use crate::experiment::{Context, Forecast, Model, Parameters, Setup, Subject, Untestable};
use crate::kernel::Abreast;
use crate::mem::{LINE, Region};
use crate::pattern::Lanes;

/// Random rings in parts of one working set. An operation is a step in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanesSetup {
    /// Bytes of all rings together.
    pub working_set: usize,
    /// How many there are.
    pub lanes: usize,
    /// Decides their orders.
    pub seed: u64,
}

impl LanesSetup {
    fn lines(&self) -> usize {
        self.working_set / LINE
    }
}

impl Setup for LanesSetup {
    fn bytes(&self) -> usize {
        Lanes::span(self.lines())
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let lanes =
            Lanes::new(region, self.lanes, self.lines(), self.seed).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(Abreast::new(lanes)),
            lap: self.lines() as u64,
        })
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let step = random(parameters, Places::lines(self.lines()), None)?;
        Some(Forecast {
            cycles: step.cycles / in_flight(parameters, self.lanes)?,
            model: &SIDE_BY_SIDE,
        })
    }
}

static SIDE_BY_SIDE: Model = Model {
    name: "a random step, so many at a time as there are buffers",
    bar: 0.25,
    leaves_out: "page walks, of which fewer are under way at once than misses",
};
