//! The cores whose events are known by name.

use core::fmt;

use super::Flavour;
use crate::cpu::{Core, EventTable, Identity, Vendor};

/// A core with a list of events of its own.
///
/// A hybrid CPU has two, one for each kind of core.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Microarch(&'static EventTable);

impl Microarch {
    /// All of them, by vendor and age.
    pub fn all() -> impl Iterator<Item = Microarch> {
        Core::event_tables().map(Microarch)
    }

    /// The core of this [name](Self::name).
    pub fn named(name: &str) -> Option<Microarch> {
        Microarch::all().find(|core| core.name() == name)
    }

    /// Its name, such as "Haswell" or "Alder Lake (P)".
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Its mark in the tables.
    pub(super) const fn mark(self) -> &'static str {
        self.0.mark
    }

    /// Where the encodings of its events come from: a directory of Linux 6.12 below
    /// `tools/perf/pmu-events/arch/x86`, and the version of the vendor's list in it.
    pub const fn source(self) -> &'static str {
        self.0.source.section
    }

    /// How it numbers events.
    pub const fn flavour(self) -> Flavour {
        match self.0.vendor {
            Vendor::Amd | Vendor::Hygon => Flavour::Amd,
            Vendor::Intel | Vendor::Other => Flavour::Intel,
        }
    }

    /// The core that executes this; see [`of`](Self::of).
    pub fn detect() -> Option<Microarch> {
        Microarch::of(&Identity::detect())
    }

    /// The core of a CPU. `None` for those without a list: older than Nehalem or Zen, younger
    /// than the lists, or a hybrid guest that does not say which of its cores it is.
    pub fn of(identity: &Identity) -> Option<Microarch> {
        identity.events().map(Microarch)
    }
}

impl fmt::Debug for Microarch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
