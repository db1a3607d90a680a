//! The registers that switch hardware prefetchers off, by core.
//!
//! Sources: Intel, "Disclosure of Hardware Prefetcher Control on Some Intel Processors" (2014);
//! Intel SDM volume 4, the tables of each generation; Intel, "Hardware Prefetch Controls for Intel
//! Atom Cores" (document 357930); AMD, Processor Programming Reference for family 19h,
//! "MSRC000_0108 Prefetch Control", which CPUID leaf 8000_0021h announces in bit 13 of EAX. What
//! Intel's own tools pepc (`MiscFeatureControl.py`) and PerfSpect go by agrees with it.

use super::microarch::Core;

/// A register whose bits switch hardware prefetchers off: 1 is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchSwitches {
    /// The model-specific register.
    pub register: u32,
    /// The bits, and what each switches off.
    pub bits: &'static [(u32, &'static str)],
}

impl PrefetchSwitches {
    /// All bits.
    pub fn mask(&self) -> u64 {
        self.bits.iter().fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// The prefetchers that are off when the register holds `value`.
    pub fn off(&self, value: u64) -> impl Iterator<Item = &'static str> {
        let is_off = move |(bit, _): &&(u32, &'static str)| value >> bit & 1 == 1;
        self.bits.iter().filter(is_off).map(|(_, name)| *name)
    }
}

/// `IA32_MISC_ENABLE`.
const MISC_ENABLE: u32 = 0x1A0;
/// `MSR_MISC_FEATURE_CONTROL`, later `MSR_PREFETCH_CONTROL`.
const FEATURE_CONTROL: u32 = 0x1A4;
/// `Core::X86::Msr::PrefetchControl`.
const AMD_CONTROL: u32 = 0xC000_0108;

const STREAMER: (u32, &str) = (0, "L2 streamer");
const ADJACENT: (u32, &str) = (1, "L2 adjacent line");
const NEXT_LINE: (u32, &str) = (2, "L1 data next line");
const BY_INSTRUCTION: (u32, &str) = (3, "L1 data by instruction address");
const MULTIPATH: (u32, &str) = (5, "L2 adaptive multipath");

/// Names of cores, the register, its bits.
type Published = (&'static [&'static str], u32, &'static [(u32, &'static str)]);

const PUBLISHED: [Published; 9] = [
    // SDM volume 4, NetBurst: bits 9 and 19.
    (
        &["NetBurst", "NetBurst (Prescott)"],
        MISC_ENABLE,
        &[(9, "stream"), (19, "adjacent line")],
    ),
    // SDM volume 4, Core: two more, of L1d.
    (
        &["Core"],
        MISC_ENABLE,
        &[
            (9, "L2 streamer"),
            (19, "L2 adjacent line"),
            (37, "L1 data next line"),
            (39, "L1 data by instruction address"),
        ],
    ),
    // The disclosure of 2014, Nehalem to Broadwell; SDM volume 4, the later tables.
    (
        &[
            "Nehalem",
            "Sandy Bridge",
            "Haswell",
            "Skylake",
            "Palm Cove",
            "Sunny Cove",
            "Willow Cove",
            "Cypress Cove",
        ],
        FEATURE_CONTROL,
        &[STREAMER, ADJACENT, NEXT_LINE, BY_INSTRUCTION],
    ),
    // SDM volume 4, 12th generation, P-core: one more. PerfSpect has it for the servers of these
    // cores, too.
    (
        &["Golden Cove", "Raptor Cove"],
        FEATURE_CONTROL,
        &[STREAMER, ADJACENT, NEXT_LINE, BY_INSTRUCTION, MULTIPATH],
    ),
    // PerfSpect, Granite Rapids: two more.
    (
        &["Redwood Cove"],
        FEATURE_CONTROL,
        &[
            STREAMER,
            ADJACENT,
            NEXT_LINE,
            BY_INSTRUCTION,
            MULTIPATH,
            (6, "last-level page"),
            (7, "array of pointers"),
        ],
    ),
    // SDM volume 4, Atom since Silvermont.
    (
        &["Silvermont", "Goldmont", "Goldmont Plus", "Tremont"],
        FEATURE_CONTROL,
        &[STREAMER, NEXT_LINE],
    ),
    // Document 357930.
    (
        &["Gracemont", "Crestmont"],
        FEATURE_CONTROL,
        &[
            STREAMER,
            NEXT_LINE,
            BY_INSTRUCTION,
            (4, "L1 data next page"),
            MULTIPATH,
        ],
    ),
    // SDM volume 4, Xeon Phi: the other way round.
    (
        &["Knights Landing"],
        FEATURE_CONTROL,
        &[(0, "L1 data"), (1, "L2")],
    ),
    // PPR of family 19h. Its bits 6 to 9 choose how far the prefetchers go, and stay as they are.
    (
        &["Zen 3", "Zen 4", "Zen 5", "Zen 5 (256-bit)"],
        AMD_CONTROL,
        &[
            (0, "L1 stream"),
            (1, "L1 stride"),
            (2, "L1 region"),
            (3, "L2 stream"),
            (5, "L2 up/down"),
        ],
    ),
];

impl Core {
    /// The register that switches this core's hardware prefetchers off; `None` if none is
    /// published, as of AMD's cores before Zen 3.
    pub fn prefetch_switches(&self) -> Option<PrefetchSwitches> {
        let row = PUBLISHED
            .iter()
            .find(|(names, _, _)| names.contains(&self.name))?;
        Some(PrefetchSwitches {
            register: row.1,
            bits: row.2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_core_is_listed_twice_and_no_bit_of_a_register() {
        for (index, (names, _, bits)) in PUBLISHED.iter().enumerate() {
            let others = PUBLISHED[..index].iter();
            let mut earlier = others.flat_map(|(names, _, _)| names.iter());
            assert!(!earlier.any(|name| names.contains(name)), "{names:?}");
            for (place, (bit, _)) in bits.iter().enumerate() {
                assert!(*bit < 64 && !bits[..place].iter().any(|(other, _)| other == bit));
            }
        }
    }

    #[test]
    fn a_value_tells_which_are_off() {
        let switches = PrefetchSwitches {
            register: AMD_CONTROL,
            bits: PUBLISHED[8].2,
        };
        assert_eq!(switches.mask(), 0x2F);
        // 3C0h is what the register holds after a reset: nothing is off.
        assert_eq!(switches.off(0x3C0).count(), 0);
        assert!(switches.off(0x3E1).eq(["L1 stream", "L2 up/down"]));
    }
}
