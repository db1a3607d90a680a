//! Bursts of independent accesses.

use crate::experiment::prelude::*;
use crate::kernel::{Burst, Places, Transfer, Width};
use crate::mem::Region;

/// Accesses of one width at chosen places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstSetup {
    /// Their places.
    pub places: Places,
    /// Loads or stores.
    pub transfer: Transfer,
    /// Bytes of an access: 4, 8, 16, 32 or 64.
    pub width: usize,
}

impl Setup for BurstSetup {
    fn bytes(&self) -> usize {
        self.places.span(self.width)
    }

    fn prepare<'m>(
        &self,
        mut region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let width = Width::of(self.width, context.features).ok_or_else(|| no_width(self.width))?;
        // All untouched pages of a mapping share one page of zeros.
        region.bytes_mut()[..self.bytes()].fill(1);
        let burst = Burst::new(region, self.places, self.transfer, width)?;
        let period = burst.round();
        Ok(Workload::steady(burst, period))
    }
}

/// The reason why no access of `bytes` bytes can be made.
pub(crate) fn no_width(bytes: usize) -> Untestable {
    Untestable(format!("this CPU has no accesses of {bytes} bytes"))
}
