//! Numbers that are counted, not timed.

use crate::experiment::prelude::*;
use crate::host::Host;
use crate::mem::Region;

/// A number found by looking at a pattern, or by arithmetic.
#[derive(Clone, Copy)]
pub struct CountSetup {
    /// Names it.
    pub name: &'static str,
    /// Bytes of memory that `count` looks at.
    pub bytes: usize,
    /// Finds the number; `argument` is the case's own.
    pub count: fn(Region<'_>, argument: u64) -> Result<f64, Untestable>,
    /// What `count` is to count.
    pub argument: u64,
}

impl core::fmt::Debug for CountSetup {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Count({}, {})", self.name, self.argument)
    }
}

impl Setup for CountSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        (self.count)(region, self.argument).map(Workload::Count)
    }
}

/// A number that the host is asked for.
#[derive(Clone, Copy)]
pub struct AskSetup {
    /// Names it.
    pub name: &'static str,
    /// Asks for the number; `argument` is the case's own.
    pub ask: fn(&'static dyn Host, argument: u64) -> Result<f64, Untestable>,
    /// What `ask` is to ask for.
    pub argument: u64,
}

impl core::fmt::Debug for AskSetup {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Count({}, {})", self.name, self.argument)
    }
}

impl Setup for AskSetup {
    fn bytes(&self) -> usize {
        0
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Result<Workload<'m>, Untestable> {
        (self.ask)(context.host, self.argument).map(Workload::Count)
    }
}
