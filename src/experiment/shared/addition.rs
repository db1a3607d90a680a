//! Dependent floating-point additions.

use crate::experiment::prelude::*;
use crate::kernel::Addition;
use crate::mem::Region;

/// A chain of additions of two `f64`. An operation is an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdditionSetup;

impl Setup for AdditionSetup {
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        Ok(Workload::steady(Addition::default(), 0))
    }
}
