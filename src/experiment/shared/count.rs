//! Numbers that are counted, computed or simulated, not timed.

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

/// A number, how it is found, and the bounds that a claim gives it.
pub(crate) struct Counted {
    /// Names it.
    pub series: &'static str,
    /// Finds it.
    pub count: fn() -> Result<f64, Untestable>,
    /// Its least and its greatest allowed value.
    pub within: (f64, f64),
}

impl Counted {
    /// A number that must equal `said`.
    pub const fn exactly(
        series: &'static str,
        said: f64,
        count: fn() -> Result<f64, Untestable>,
    ) -> Self {
        Counted::within(series, (said, said), count)
    }

    /// A number that must lie within bounds.
    pub const fn within(
        series: &'static str,
        within: (f64, f64),
        count: fn() -> Result<f64, Untestable>,
    ) -> Self {
        Counted {
            series,
            count,
            within,
        }
    }

    /// One case per number.
    pub fn cases(rows: &'static [Counted]) -> impl Iterator<Item = Case> {
        rows.iter().map(|row| Case::new(row.series, 0.0, row))
    }

    /// Claims that all of these numbers lie within their bounds.
    pub fn all(e: &Evidence<'_>, rows: &[Counted]) -> Judged {
        all_of(rows.iter().map(|row| {
            let (least, most) = row.within;
            between(row.series, e.at(row.series, 0.0), least, most)
        }))
    }
}

impl core::fmt::Debug for Counted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Counted({})", self.series)
    }
}

impl Setup for &'static Counted {
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        (self.count)().map(Workload::Count)
    }
}
