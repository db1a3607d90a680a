//! Stores after an operation of long latency.

use crate::experiment::prelude::*;
use crate::kernel::StoreBufferFill;
use crate::mem::{LINE, Region};

/// Rounds of a chain of divisions with stores after it. An operation is a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PendingSetup {
    /// Stores per round.
    pub stores: u32,
}

impl Setup for PendingSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let pending = StoreBufferFill::new(region, self.stores)?;
        Ok(Workload::steady(pending, 1))
    }
}
