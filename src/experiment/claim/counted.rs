//! Numbers found by arithmetic or simulation, and their expected values.

use crate::experiment::{
    Case, Context, Evidence, Judged, Setup, Untestable, Workload, all_of, between,
};
use crate::mem::Region;

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

/// One case per number.
pub(crate) fn cases(rows: &'static [Counted]) -> impl Iterator<Item = Case> {
    rows.iter().map(|row| Case::new(row.series, 0.0, row))
}

/// Claims that all of these numbers lie within their bounds.
pub(crate) fn all(e: &Evidence<'_>, rows: &[Counted]) -> Judged {
    all_of(rows.iter().map(|row| {
        let (least, most) = row.within;
        between(row.series, e.at(row.series, 0.0), least, most)
    }))
}
