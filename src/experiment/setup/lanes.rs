//! Rings that are walked side by side.

use crate::experiment::{Context, Setup, Subject, Untestable};
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
}
