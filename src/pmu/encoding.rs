//! Event encodings, and the cores that have an event table.

use core::fmt;

use crate::cpu::{Core, EventTable, Identity, Vendor};

/// The encoding of an event: the fields of `PERFEVTSELx` that select what is counted.
///
/// Source: Intel SDM volume 3B, "Architectural Performance Monitoring", figure of
/// IA32_PERFEVTSELx; AMD64 APM volume 2, "PerfEvtSeln", with event numbers of 12 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Event number: 8 bits on Intel, 12 on AMD.
    pub event: u16,
    /// Unit mask: which of the event's conditions count.
    pub umask: u8,
    /// Count mask: if not 0, counts the cycles with at least this many occurrences.
    pub cmask: u8,
    /// Counts the cycles with fewer than `cmask` occurrences instead.
    pub invert: bool,
    /// Counts how often the condition begins instead of how many cycles it lasts.
    pub edge: bool,
    /// Value of the off-core response register, for the events that need it; otherwise 0.
    pub offcore: u64,
}

/// The vendors' two layouts of the event number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// 8 bits.
    Intel,
    /// 12 bits, the upper four in bits 32 to 35.
    Amd,
}

/// Bits of `PERFEVTSELx` that the code that programs the counter sets.
pub(super) mod bit {
    /// Counts in rings 1 to 3.
    pub const USER: u64 = 1 << 16;
    /// Counts in ring 0.
    pub const KERNEL: u64 = 1 << 17;
    /// Counts rising edges of the condition.
    pub const EDGE: u64 = 1 << 18;
    /// Enables the counter.
    pub const ENABLE: u64 = 1 << 22;
    /// Counts cycles below the count mask.
    pub const INVERT: u64 = 1 << 23;
}

impl Encoding {
    /// Returns the encoding of an event number and unit mask, with all other fields zero.
    pub const fn new(event: u16, umask: u8) -> Self {
        Encoding { event, umask, cmask: 0, invert: false, edge: false, offcore: 0 }
    }

    /// Returns the encoding with this count mask: it counts cycles with at least `cmask` occurrences.
    pub const fn cmask(self, cmask: u8) -> Self {
        Encoding { cmask, ..self }
    }

    /// Returns the encoding with this value for the off-core response register.
    pub const fn offcore(self, offcore: u64) -> Self {
        Encoding { offcore, ..self }
    }

    /// Returns the fields at their bits in `PERFEVTSELx`, which are also the bits of perf's `config`.
    pub const fn select(self, flavour: Flavour) -> u64 {
        let event = match flavour {
            Flavour::Intel => self.event as u64 & 0xFF,
            Flavour::Amd => self.event as u64 & 0xFF | (self.event as u64 & 0xF00) << 24,
        };
        let edge = if self.edge { bit::EDGE } else { 0 };
        let invert = if self.invert { bit::INVERT } else { 0 };
        event | (self.umask as u64) << 8 | edge | invert | (self.cmask as u64) << 24
    }
}

/// A core that has its own event table.
///
/// A hybrid CPU has two, one for each kind of core.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Microarch(&'static EventTable);

impl Microarch {
    /// Returns all cores, ordered by vendor and age.
    pub fn all() -> impl Iterator<Item = Microarch> {
        Core::event_tables().map(Microarch)
    }

    /// Returns the core with this [name](Self::name).
    pub fn named(name: &str) -> Option<Microarch> {
        Microarch::all().find(|core| core.name() == name)
    }

    /// Returns the core's name, such as "Haswell" or "Alder Lake (P)".
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the mark that stands for the core in the event tables.
    pub(super) const fn mark(self) -> &'static str {
        self.0.mark
    }

    /// Returns the source of the core's encodings: a directory of Linux 6.12 below
    /// `tools/perf/pmu-events/arch/x86`, and the version of the vendor's list in that directory.
    pub const fn source(self) -> &'static str {
        self.0.source.section
    }

    /// Returns the core's layout of event numbers.
    pub const fn flavour(self) -> Flavour {
        match self.0.vendor {
            Vendor::Amd | Vendor::Hygon => Flavour::Amd,
            Vendor::Intel | Vendor::Other => Flavour::Intel,
        }
    }

    /// Returns the core of the CPU that executes the call; see [`of`](Self::of).
    pub fn detect() -> Option<Microarch> {
        Microarch::of(&Identity::detect())
    }

    /// Returns the core of a CPU. `None` if the CPU has no event table: it is older than Nehalem or Zen,
    /// newer than the tables, or a hybrid guest that does not report which kind of core it is.
    pub fn of(identity: &Identity) -> Option<Microarch> {
        identity.events().map(Microarch)
    }
}

impl fmt::Debug for Microarch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_manuals_draw_them() {
        let pending_cycles = Encoding::new(0x48, 0x01).cmask(1);
        assert_eq!(pending_cycles.select(Flavour::Intel), 0x0100_0148);
        let odd = Encoding { invert: true, edge: true, ..Encoding::new(0xC0, 0x02) };
        assert_eq!(odd.select(Flavour::Intel), 0x0084_02C0);
        // AMD's L2 fill events have numbers above FFh.
        assert_eq!(Encoding::new(0x1C0, 0x1F).select(Flavour::Amd), 0x1_0000_1FC0);
        assert_eq!(Encoding::new(0x1C0, 0x1F).select(Flavour::Intel), 0x1FC0);
    }
}
