//! Sestoft's index loop.

use crate::experiment::predict::{Places, in_order, random};
use crate::experiment::{Context, Forecast, Parameters, Setup, Subject, Untestable};
use crate::kernel::Jump;
use crate::mem::Region;
use crate::pattern::{Chain, Fill};

/// An array of 32-bit indices and a walk along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JumpSetup {
    /// Elements of the array.
    pub size: usize,
    /// How it is filled.
    pub fill: Fill,
    /// Whether every index is checked against the array's length.
    pub checked: bool,
}

impl Setup for JumpSetup {
    fn bytes(&self) -> usize {
        self.size * size_of::<u32>()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let chain = Chain::new(region, self.size, self.fill).map_err(Untestable::because)?;
        let jump = Jump::new(chain);
        Ok(Subject::Steady {
            kernel: Box::new(if self.checked { jump.checked() } else { jump }),
            lap: self.size as u64,
        })
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places {
            count: self.size,
            stride: size_of::<u32>(),
            rotating: false,
        };
        match self.fill {
            Fill::Cycle { .. } => random(parameters, places, None),
            Fill::Sequential => in_order(parameters, places, false),
            _ => None,
        }
    }
}
