//! A store before a load of another place.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Alias;
use crate::mem::Region;

/// A store, and a load that many bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AliasSetup {
    /// Byte offset of the store, which is one of 8 bytes.
    pub store: usize,
    /// Bytes from there to the load, 8 or more.
    pub behind: usize,
}

impl Setup for AliasSetup {
    fn bytes(&self) -> usize {
        self.store + self.behind + 8
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let alias = Alias::new(region, self.store, self.store + self.behind)
            .map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(alias),
            lap: 1,
        })
    }
}
