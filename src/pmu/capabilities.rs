//! Detects how many performance counters a CPU has, and which register layout they use.

use raw_cpuid::{CpuId, CpuIdReader};

/// The vendor's register layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Maker {
    /// Intel's architectural performance monitoring (CPUID leaf 0Ah).
    Intel,
    /// AMD family 15h and later: six or more counters (CPUID 8000_0001h, PerfCtrExtCore).
    Amd {
        /// Whether one register starts all counters (CPUID 8000_0022h, PerfMonV2), as since Zen 4.
        global: bool,
    },
}

/// The performance counters of a CPU.
///
/// Source: Intel SDM volume 3B, "Architectural Performance Monitoring"; AMD64 APM volume 2,
/// "Performance Monitoring Counters".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Register layout.
    pub maker: Maker,
    /// Version of Intel's architectural performance monitoring; 0 on AMD.
    pub version: u8,
    /// Number of general counters, which can count any event.
    pub general: u8,
    /// Width of a general counter in bits.
    pub general_bits: u8,
    /// Number of fixed counters, which count one event each: instructions, core cycles, reference
    /// cycles.
    pub fixed: u8,
    /// Width of a fixed counter in bits.
    pub fixed_bits: u8,
}

impl Capabilities {
    /// Returns the counters that CPUID reports; `None` if it reports no performance monitoring, which is
    /// usual in virtual machines and under emulation.
    pub fn detect() -> Option<Self> {
        Self::read(raw_cpuid::CpuIdReaderNative)
    }

    /// Returns the counters that recorded CPUID leaves report; `None` as for [`detect`](Self::detect).
    pub fn read<R: CpuIdReader>(reader: R) -> Option<Self> {
        let cpuid = CpuId::with_cpuid_reader(reader.clone());
        let vendor = cpuid.get_vendor_info()?;
        match vendor.as_str() {
            "AuthenticAMD" | "HygonGenuine" => Self::amd(reader),
            _ => Self::intel(reader),
        }
    }

    fn intel<R: CpuIdReader>(reader: R) -> Option<Self> {
        if reader.cpuid2(0, 0).eax < 0x0A {
            return None;
        }
        let leaf = reader.cpuid2(0x0A, 0);
        let version = leaf.eax as u8;
        let general = (leaf.eax >> 8) as u8;
        if version == 0 || general == 0 {
            return None;
        }
        // Version 1 has no fixed counters and leaves EDX undefined.
        let (fixed, fixed_bits) = match version {
            1 => (0, 0),
            _ => ((leaf.edx & 0x1F) as u8, (leaf.edx >> 5) as u8),
        };
        Some(Capabilities {
            maker: Maker::Intel,
            version,
            general,
            general_bits: (leaf.eax >> 16) as u8,
            fixed,
            fixed_bits,
        })
    }

    /// Returns `None` before family 15h: those CPUs have four counters, but CPUID does not report them,
    /// so they cannot be told from counters that a hypervisor hides.
    fn amd<R: CpuIdReader>(reader: R) -> Option<Self> {
        let last = reader.cpuid2(0x8000_0000, 0).eax;
        let extended = last >= 0x8000_0001 && reader.cpuid2(0x8000_0001, 0).ecx >> 23 & 1 == 1;
        if !extended {
            return None;
        }
        let (global, general) = if last >= 0x8000_0022 {
            let leaf = reader.cpuid2(0x8000_0022, 0);
            (leaf.eax & 1 == 1, (leaf.ebx & 0xF) as u8)
        } else {
            (false, 0)
        };
        Some(Capabilities {
            maker: Maker::Amd { global },
            version: 0,
            general: if general == 0 { 6 } else { general },
            general_bits: 48,
            fixed: 0,
            fixed_bits: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raw_cpuid::CpuIdResult;

    /// A CPU that answers only the listed leaves; all others are zero.
    #[derive(Clone)]
    struct Leaves(&'static [(u32, [u32; 4])]);

    impl CpuIdReader for Leaves {
        fn cpuid2(&self, leaf: u32, _: u32) -> CpuIdResult {
            let known = self.0.iter().find(|(number, _)| *number == leaf);
            let [eax, ebx, ecx, edx] = known.map_or([0; 4], |(_, registers)| *registers);
            CpuIdResult { eax, ebx, ecx, edx }
        }
    }

    const INTEL: [u32; 4] = [0x20, 0x756e_6547, 0x6c65_746e, 0x4965_6e69];
    const AMD: [u32; 4] = [0x10, 0x6874_7541, 0x444d_4163, 0x6974_6e65];

    #[test]
    fn intel_says_all_in_one_leaf() {
        // Sapphire Rapids: version 5, 8 general and 4 fixed counters of 48 bits.
        let found =
            Capabilities::read(Leaves(&[(0, INTEL), (0x0A, [0x0730_0805, 0, 0x0F, 0x604])]));
        assert_eq!(
            found,
            Some(Capabilities {
                maker: Maker::Intel,
                version: 5,
                general: 8,
                general_bits: 48,
                fixed: 4,
                fixed_bits: 48,
            })
        );
        // Version 1 (Core Duo): EDX is undefined.
        let old = Capabilities::read(Leaves(&[(0, INTEL), (0x0A, [0x0728_0201, 0, 0, 0xFFFF])]));
        assert_eq!(old.map(|old| (old.general, old.fixed)), Some((2, 0)));
    }

    #[test]
    fn amd_says_it_in_two_bits_and_a_number() {
        let zen_4 = Leaves(&[
            (0, AMD),
            (0x8000_0000, [0x8000_0028, 0, 0, 0]),
            (0x8000_0001, [0, 0, 1 << 23, 0]),
            (0x8000_0022, [1, 6, 0, 0]),
        ]);
        let found = Capabilities::read(zen_4).unwrap();
        assert_eq!(found.maker, Maker::Amd { global: true });
        assert_eq!((found.general, found.general_bits, found.fixed), (6, 48, 0));
        let zen_2 = Leaves(&[
            (0, AMD),
            (0x8000_0000, [0x8000_0020, 0, 0, 0]),
            (0x8000_0001, [0, 0, 1 << 23, 0]),
        ]);
        let found = Capabilities::read(zen_2).unwrap();
        assert_eq!(found.maker, Maker::Amd { global: false });
        assert_eq!(found.general, 6);
    }

    #[test]
    fn a_cpu_that_reports_no_counters_has_none() {
        for leaves in [
            Leaves(&[(0, INTEL)]),
            // Above its last leaf (here 5), a CPU may answer anything.
            Leaves(&[
                (0, [5, 0x756e_6547, 0x6c65_746e, 0x4965_6e69]),
                (0x0A, [0x0730_0805, 0, 0, 0x604]),
            ]),
            Leaves(&[(0, INTEL), (0x0A, [0x0030_0000, 0, 0, 0])]),
            Leaves(&[(0, INTEL), (0x0A, [0x0030_0002, 0, 0, 0x604])]),
            Leaves(&[(0, AMD), (0x8000_0000, [0x8000_0028, 0, 0, 0])]),
            Leaves(&[(0, AMD), (0x8000_0001, [0, 0, 1 << 23, 0])]),
        ] {
            assert_eq!(Capabilities::read(leaves), None);
        }
    }
}
