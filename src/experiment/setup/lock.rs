//! Locked additions.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::LockAdd;
use crate::mem::{LINE, Region};
use crate::os::split_locks;

/// Locked additions to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockSetup {
    /// Byte offset of the word, which has 8 bytes.
    pub at: usize,
}

impl Setup for LockSetup {
    fn bytes(&self) -> usize {
        self.at + 8
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let allowed = if self.at % LINE + 8 > LINE {
            Some(split_locks::allowed().map_err(Untestable::because)?)
        } else {
            None
        };
        let lock = LockAdd::new(region, self.at, allowed).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(lock),
            lap: 1,
        })
    }
}
