//! Numbers that are counted, computed or simulated, not timed.

use crate::cpu::{Core, Fact, Identity};
use crate::experiment::prelude::*;
use crate::host::{Host, Told};

/// How the number is obtained.
#[derive(Clone, Copy)]
enum Found {
    /// By inspecting this many bytes of memory.
    In(usize, fn(Region<'_>, u64) -> Testable<f64>),
    /// By arithmetic without an argument.
    Alone(fn() -> Testable<f64>),
    Computed(fn(u64) -> Testable<f64>),
    Asked(fn(&'static dyn Host, u64) -> Testable<f64>),
    Told(Told),
    /// From the table of cores, with the reason to give if the number is missing.
    Published(fn(&Core) -> Fact<u32>, &'static str),
}

/// A number that is counted, not timed.
#[derive(Clone, Copy)]
pub struct CountSetup {
    name: &'static str,
    argument: u64,
    found: Found,
}

impl CountSetup {
    const fn new(name: &'static str, argument: u64, found: Found) -> Self {
        CountSetup { name, argument, found }
    }

    /// Returns a number that `find` finds in `bytes` bytes of memory. `find` also gets `argument`.
    pub(crate) const fn in_memory(
        name: &'static str,
        bytes: usize,
        argument: u64,
        find: fn(Region<'_>, u64) -> Testable<f64>,
    ) -> Self {
        CountSetup::new(name, argument, Found::In(bytes, find))
    }

    /// Returns a number that `compute` computes from `argument`.
    pub const fn computed(
        name: &'static str,
        argument: u64,
        compute: fn(u64) -> Testable<f64>,
    ) -> Self {
        CountSetup::new(name, argument, Found::Computed(compute))
    }

    /// Returns a number that `ask` gets from the host. `ask` also gets `argument`.
    pub(crate) const fn asked(
        name: &'static str,
        argument: u64,
        ask: fn(&'static dyn Host, u64) -> Testable<f64>,
    ) -> Self {
        CountSetup::new(name, argument, Found::Asked(ask))
    }

    pub(crate) const fn told(name: &'static str, what: Told) -> Self {
        CountSetup::new(name, 0, Found::Told(what))
    }

    /// Returns a published number of this core, with the reason to give if it is missing.
    pub(crate) const fn published(
        name: &'static str,
        fact: fn(&Core) -> Fact<u32>,
        missing: &'static str,
    ) -> Self {
        CountSetup::new(name, 0, Found::Published(fact, missing))
    }

    /// Returns the case of this number at `x`, in a series of the same name.
    pub fn at(self, x: impl Into<f64>) -> Case {
        Case::new(self.name, x, self)
    }
}

impl core::fmt::Debug for CountSetup {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Count({}, {})", self.name, self.argument)
    }
}

impl Setup for CountSetup {
    fn bytes(&self) -> usize {
        match self.found {
            Found::In(bytes, _) => bytes,
            _ => 0,
        }
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let number = match self.found {
            Found::In(_, find) => find(region, self.argument),
            Found::Alone(compute) => compute(),
            Found::Computed(compute) => compute(self.argument),
            Found::Asked(ask) => ask(context.host, self.argument),
            Found::Told(what) => Ok(context.host.told(what)?),
            Found::Published(fact, missing) => {
                let core = Identity::detect().core();
                let published = core.and_then(|core| fact(core).value());
                published.map(f64::from).ok_or_else(|| Untestable::because(missing))
            }
        };
        number.map(Workload::Count)
    }
}

/// A number, how it is found, and the bounds that a claim gives for it.
pub(crate) struct Counted {
    pub series: &'static str,
    pub count: fn() -> Testable<f64>,
    /// The smallest and the largest allowed value.
    pub within: (f64, f64),
}

impl Counted {
    /// Returns a number that must equal `said`.
    pub const fn exactly(series: &'static str, said: f64, count: fn() -> Testable<f64>) -> Self {
        Counted::within(series, (said, said), count)
    }

    pub const fn within(
        series: &'static str,
        within: (f64, f64),
        count: fn() -> Testable<f64>,
    ) -> Self {
        Counted { series, count, within }
    }

    pub fn cases(rows: &'static [Counted]) -> impl Iterator<Item = Case> {
        let setup = |row: &Counted| CountSetup::new(row.series, 0, Found::Alone(row.count));
        rows.iter().map(move |row| setup(row).at(0.0))
    }

    /// Judges the claim that all of these numbers lie within their bounds.
    pub fn all(e: &Evidence<'_>, rows: &[Counted]) -> Judged {
        all_of(rows.iter().map(|row| {
            let (least, most) = row.within;
            between(row.series, e.at(row.series, 0.0), least, most)
        }))
    }
}
