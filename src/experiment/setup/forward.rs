//! Values that go through memory.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Forward, Trip};
use crate::mem::Region;

/// A value that is stored and loaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForwardSetup {
    /// Bytes stored and loaded, and how.
    pub trip: Trip,
    /// Byte offset of the store.
    pub store: usize,
    /// Bytes from there to the load.
    pub load: isize,
}

impl Setup for ForwardSetup {
    fn bytes(&self) -> usize {
        let load = self.store.saturating_add_signed(self.load) + self.trip.load;
        load.max(self.store + self.trip.written())
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let forward = Forward::new(region, self.trip, self.store, self.load, context.features)
            .map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(forward),
            lap: 1,
        })
    }
}
