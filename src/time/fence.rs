//! Whether `lfence` waits for older instructions, which AMD leaves to a register.

// Reads and writes a model-specific register.
#![allow(unsafe_code)]

use raw_cpuid::{CpuIdReader, CpuIdReaderNative};

use crate::cpu::{Identity, Vendor};
use crate::pmu::MsrPort;

/// The register DE_CFG.
const DE_CFG: u32 = 0xc001_1029;

/// The bit of [`DE_CFG`] with which `lfence` waits.
const WAITS: u64 = 1 << 1;

/// Whether `lfence` waits until all older instructions have completed, as the clock expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FenceWaits {
    /// On every CPU of this kind.
    Always,
    /// The register said so already.
    AsFound,
    /// Since the register was written.
    Now,
    /// No: the register did not keep the bit.
    No,
    /// Unknown: the register is the hypervisor's.
    Unknown,
}

/// Makes `lfence` wait for older instructions on the CPU that executes the call, and returns whether it does.
///
/// AMD's CPUs from family 10h on, except 11h, and Hygon's have a bit for it in the register DE_CFG, which firmware
/// may leave clear and Linux sets. Newer ones report by CPUID that `lfence` always waits. In a virtual machine
/// nothing is written: the host has set the bit for itself.
///
/// Source: AMD, "Software techniques for managing speculation on AMD processors"; AMD APM volume 3, CPUID
/// function 8000_0021h, `LFenceAlwaysSerializing`.
///
/// # Safety
/// The caller runs in ring 0 and stays on one CPU, `port` is that CPU's, and no other code writes the register
/// meanwhile.
#[doc(alias = "DE_CFG")]
pub unsafe fn make_lfence_wait(port: &mut impl MsrPort) -> FenceWaits {
    // SAFETY: the caller vouches for the port, and the instruction describes the CPU that executes it.
    unsafe { on(port, CpuIdReaderNative) }
}

/// Does the same on the CPU that `reader` describes.
unsafe fn on<R: CpuIdReader>(port: &mut impl MsrPort, reader: R) -> FenceWaits {
    let reported = reader.cpuid1(0x8000_0000).eax >= 0x8000_0021
        && reader.cpuid1(0x8000_0021).eax & 1 << 2 != 0;
    let identity = Identity::read(reader);
    let has_bit = match identity.vendor {
        Vendor::Amd => identity.family >= 0x10 && identity.family != 0x11,
        Vendor::Hygon => true,
        Vendor::Intel | Vendor::Other => false,
    };
    if reported || !has_bit {
        return FenceWaits::Always;
    }
    if identity.hypervisor.is_some() {
        return FenceWaits::Unknown;
    }
    // SAFETY: the caller runs in ring 0 on this CPU, whose family has the register. No other bit changes.
    unsafe {
        let found = port.read(DE_CFG);
        if found & WAITS != 0 {
            return FenceWaits::AsFound;
        }
        port.write(DE_CFG, found | WAITS);
        match port.read(DE_CFG) & WAITS {
            0 => FenceWaits::No,
            _ => FenceWaits::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use raw_cpuid::CpuIdResult;

    use super::*;

    /// A CPU with one register, whose bits outside `writable` stay as they are.
    struct Register {
        value: u64,
        writable: u64,
    }

    impl MsrPort for Register {
        unsafe fn read(&mut self, register: u32) -> u64 {
            assert_eq!(register, DE_CFG);
            self.value
        }

        unsafe fn write(&mut self, register: u32, value: u64) {
            assert_eq!(register, DE_CFG);
            self.value = self.value & !self.writable | value & self.writable;
        }
    }

    /// The CPUID of a family: vendor, family, hypervisor, and whether `lfence` is said to wait.
    #[derive(Clone)]
    struct Leaves {
        vendor: [u8; 12],
        family: u32,
        guest: bool,
        waits: bool,
    }

    impl CpuIdReader for Leaves {
        fn cpuid2(&self, leaf: u32, _: u32) -> CpuIdResult {
            let word = |at: usize| {
                let bytes = &self.vendor[at..at + 4];
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
            };
            let mut result = CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };
            match leaf {
                0 => {
                    result.eax = 1;
                    (result.ebx, result.edx, result.ecx) = (word(0), word(4), word(8));
                }
                1 => {
                    let extended = self.family.saturating_sub(0xf);
                    result.eax = extended << 20 | self.family.min(0xf) << 8;
                    result.ecx = u32::from(self.guest) << 31;
                }
                0x8000_0000 => result.eax = 0x8000_0021,
                0x8000_0021 => result.eax = u32::from(self.waits) << 2,
                _ => {}
            }
            result
        }
    }

    const ZEN_2: Leaves =
        Leaves { vendor: *b"AuthenticAMD", family: 0x17, guest: false, waits: false };

    /// Returns what the call returns and what the register holds then.
    fn made(leaves: Leaves, value: u64, writable: u64) -> (FenceWaits, u64) {
        let mut register = Register { value, writable };
        // SAFETY: the register is made up.
        let waits = unsafe { on(&mut register, leaves) };
        (waits, register.value)
    }

    #[test]
    fn the_bit_is_set_where_the_cpu_has_it() {
        assert_eq!(made(ZEN_2, 0x80, !0), (FenceWaits::Now, 0x82));
        assert_eq!(made(ZEN_2, 0x82, 0), (FenceWaits::AsFound, 0x82));
        assert_eq!(made(ZEN_2, 0x80, 0), (FenceWaits::No, 0x80));
        let hygon = Leaves { vendor: *b"HygonGenuine", family: 0x18, ..ZEN_2 };
        assert_eq!(made(hygon, 0, !0), (FenceWaits::Now, 2));
    }

    #[test]
    fn no_register_is_touched_elsewhere() {
        let zen_4 = Leaves { waits: true, ..ZEN_2 };
        let intel = Leaves { vendor: *b"GenuineIntel", family: 6, ..ZEN_2 };
        let family = |family| Leaves { family, ..ZEN_2 };
        for always in [zen_4, intel, family(0xf), family(0x11)] {
            assert_eq!(made(always, 0, !0), (FenceWaits::Always, 0));
        }
        let guest = Leaves { guest: true, ..ZEN_2 };
        assert_eq!(made(guest, 0, !0), (FenceWaits::Unknown, 0));
    }
}
