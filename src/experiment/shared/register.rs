//! Work that touches no memory.

use crate::experiment::prelude::*;
use crate::kernel::Register;
use crate::mem::Region;

/// A chain of dependent one-cycle instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterSetup;

impl Setup for RegisterSetup {
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        Ok(Workload::steady(Register::default(), 0))
    }
}
