//! Facts about a core: a value with the document that states it, or the reason why no value is known.
//! Also the types of facts that are more than a number.

use core::fmt;

/// The place in a document that states a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The document, with its publisher.
    pub document: &'static str,
    /// The chapter, section, table or file in it.
    pub section: &'static str,
}

impl Source {
    pub(super) const fn new(document: &'static str, section: &'static str) -> Self {
        Source { document, section }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.document, self.section)
    }
}

/// A published value, or the reason why none is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact<T> {
    /// The value is published.
    Known {
        /// The value.
        value: T,
        /// The document that publishes it.
        source: Source,
    },
    /// No value is known.
    Unknown {
        /// Why no value is known.
        reason: &'static str,
    },
}

impl<T: Copy> Fact<T> {
    /// Returns the value; `None` if it is not known.
    pub const fn value(&self) -> Option<T> {
        match *self {
            Fact::Known { value, .. } => Some(value),
            Fact::Unknown { .. } => None,
        }
    }

    /// Returns the source of the value.
    ///
    /// # Errors
    /// The reason, if the value is not known.
    pub const fn source(&self) -> Result<Source, &'static str> {
        match *self {
            Fact::Known { source, .. } => Ok(source),
            Fact::Unknown { reason } => Err(reason),
        }
    }
}

pub(super) const fn known<T: Copy>(value: T, source: Source) -> Fact<T> {
    Fact::Known { value, source }
}

pub(super) const fn unknown<T>(reason: &'static str) -> Fact<T> {
    Fact::Unknown { reason }
}

/// The most bytes per core cycle that loads move from L1d and stores move to L1d.
///
/// These are hardware limits, by the width of an access; no program can be faster. If the core splits an
/// access, the limit takes the split into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct Ports {
    /// For loads of 16, 32 and 64 bytes.
    pub loads: [u32; 3],
    /// For stores of 16, 32 and 64 bytes.
    pub stores: [u32; 3],
}

impl Ports {
    /// Returns the bytes per core cycle of loads of `width` bytes; `None` for a width other than 16, 32
    /// and 64.
    pub fn read(&self, width: usize) -> Option<u32> {
        at(&self.loads, width)
    }

    /// Returns the bytes per core cycle of stores of `width` bytes; `None` for a width other than 16, 32
    /// and 64.
    pub fn write(&self, width: usize) -> Option<u32> {
        at(&self.stores, width)
    }
}

fn at(bytes: &[u32; 3], width: usize) -> Option<u32> {
    let index = [16, 32, 64].iter().position(|&known| known == width)?;
    Some(bytes[index])
}

pub(super) const fn ports(loads: [u32; 3], stores: [u32; 3], source: Source) -> Fact<Ports> {
    known(Ports { loads, stores }, source)
}

/// Numbers of entries of the TLBs that translate loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Translations {
    /// L1 dTLB entries for 4 KiB pages.
    pub small: Fact<u32>,
    /// L1 dTLB entries for 2 MiB pages.
    pub large: Fact<u32>,
    /// STLB entries for 4 KiB pages.
    pub second: Fact<u32>,
}

/// Takes the L1 dTLB entries for 4 KiB and for 2 MiB pages, and the STLB entries.
pub(super) const fn translations(
    small: u32,
    large: u32,
    second: u32,
    source: Source,
) -> Translations {
    Translations {
        small: known(small, source),
        large: known(large, source),
        second: known(second, source),
    }
}

/// A model-specific register whose bits disable hardware prefetchers: 1 is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchSwitches {
    /// Register number.
    pub register: u32,
    /// Each bit, with the prefetcher that it disables.
    pub bits: &'static [(u32, &'static str)],
}

impl PrefetchSwitches {
    /// AMD's `Core::X86::Msr::PrefetchControl`.
    pub(super) const PREFETCH_CONTROL: u32 = 0xC000_0108;

    /// Returns whether the register is one that CPUID announces. All others exist on all CPUs of a core.
    pub(in crate::cpu) const fn is_prefetch_control(&self) -> bool {
        self.register == Self::PREFETCH_CONTROL
    }

    /// Returns the mask of all prefetcher bits.
    pub fn mask(&self) -> u64 {
        self.bits.iter().fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// Returns the prefetchers that are off when the register holds `value`.
    pub fn off(&self, value: u64) -> impl Iterator<Item = &'static str> {
        let is_off = move |(bit, _): &&(u32, &'static str)| value >> bit & 1 == 1;
        self.bits.iter().filter(is_off).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use crate::cpu::Core;

    #[test]
    fn only_vectors_have_a_limit() {
        let zen = Core::named("Zen 4").unwrap().ports.value().unwrap();
        assert_eq!((zen.read(16), zen.read(64)), (Some(32), Some(64)));
        assert_eq!((zen.write(16), zen.write(64)), (Some(16), Some(32)));
        assert_eq!((zen.read(8), zen.write(128)), (None, None));
    }

    #[test]
    fn a_value_tells_which_prefetchers_are_off() {
        let switches = Core::named("Zen 4").unwrap().prefetchers.value().unwrap();
        assert_eq!(switches.mask(), 0x2F);
        // The register holds 3C0h after a reset: nothing is off.
        assert_eq!(switches.off(0x3C0).count(), 0);
        assert!(switches.off(0x3E1).eq(["L1 stream", "L2 up/down"]));
    }
}
