//! Arrays that are read in blocks.

use crate::experiment::predict::{Flow, moved};
use crate::experiment::{Context, Forecast, Model, Parameters, Setup, Subject, Untestable};
use crate::kernel::Blocked;
use crate::mem::{LINE, Region};

/// An array, and blocks of it that are each read several times. An operation is a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockedSetup {
    /// Bytes of the array.
    pub array: usize,
    /// Bytes of a block.
    pub block: usize,
    /// How often each block is read.
    pub times: u32,
}

impl Setup for BlockedSetup {
    fn bytes(&self) -> usize {
        self.array
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let blocked =
            Blocked::new(region, self.block / LINE, self.times).map_err(Untestable::because)?;
        let lap = blocked.pass();
        Ok(Subject::Steady {
            kernel: Box::new(blocked),
            lap,
        })
    }

    /// A line's four loads are added to one sum, a cycle each.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let lines = self.block / LINE;
        let reading = |bytes| {
            let flow = Flow {
                loaded: LINE,
                width: Some(16),
                ..Flow::default()
            };
            Some(moved(parameters, bytes, flow)?.max(4.0))
        };
        let again = f64::from(self.times.saturating_sub(1));
        Some(Forecast {
            cycles: lines as f64 * (reading(self.array)? + again * reading(self.block)?),
            model: &BLOCKS,
        })
    }
}

static BLOCKS: Model = Model {
    name: "a block's first reading at the array's rate, the others at its own",
    bar: 0.25,
    leaves_out: "what of the block the last level gives to neighbours, and prefetchers that start anew \
                 with each reading",
};
