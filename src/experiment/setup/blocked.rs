//! Arrays that are read in blocks.

use crate::experiment::{Context, Setup, Subject, Untestable};
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
}
