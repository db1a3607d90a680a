//! The counters as ring 0 and user mode access them: `rdpmc`, the model-specific registers, and the
//! counter assigned to an event.
//!
//! Source: Intel SDM volume 4, table 2-2 ("IA-32 Architectural MSRs"); AMD64 APM volume 2,
//! appendix A ("MSR Cross-Reference").

// `rdpmc` and MSRs are instructions that fault where they are not allowed.
#![allow(unsafe_code)]

use super::{Capabilities, Maker};
#[cfg(feature = "ring0")]
use core::arch::asm;

/// The register numbers of a CPU's counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    select: u32,
    count: u32,
    stride: u32,
    /// The register that starts and stops all counters at once, if the CPU has one.
    pub(super) control: Option<u32>,
    /// The register that reports which counters have overflowed, and the register that clears its bits.
    pub(super) overflow: Option<(u32, u32)>,
}

/// IA32_FIXED_CTR_CTRL.
pub(super) const FIXED_CONTROL: u32 = 0x38D;

/// MSR_OFFCORE_RSP_0, which selects what the off-core events count (events B7h and 2Ah; the second such
/// register is not used).
pub(super) const OFFCORE: u32 = 0x1A6;

/// IA32_FIXED_CTR0.
const FIXED_COUNT: u32 = 0x309;

impl Registers {
    pub(super) fn of(capabilities: &Capabilities) -> Self {
        match capabilities.maker {
            // IA32_PERFEVTSELx, IA32_PMCx, IA32_PERF_GLOBAL_CTRL, _STATUS and _OVF_CTRL. The global
            // registers exist since version 2.
            Maker::Intel => {
                let global = capabilities.version >= 2;
                Registers {
                    select: 0x186,
                    count: 0xC1,
                    stride: 1,
                    control: global.then_some(0x38F),
                    overflow: global.then_some((0x38E, 0x390)),
                }
            }
            // PERF_CTLx and PERF_CTRx alternate; PerfCntrGlobalCtl, -Status, -StatusClr.
            Maker::Amd { global } => Registers {
                select: 0xC001_0200,
                count: 0xC001_0201,
                stride: 2,
                control: global.then_some(0xC000_0301),
                overflow: global.then_some((0xC000_0300, 0xC000_0302)),
            },
        }
    }

    /// Returns the register that selects what general counter `n` counts.
    pub(super) fn select(&self, n: u8) -> u32 {
        self.select + self.stride * u32::from(n)
    }

    /// Returns the register that holds general counter `n`.
    pub(super) fn count(&self, n: u8) -> u32 {
        self.count + self.stride * u32::from(n)
    }

    /// Returns the register that holds fixed counter `n`.
    pub(super) fn fixed(n: u8) -> u32 {
        FIXED_COUNT + u32::from(n)
    }
}

/// A source of performance counter values: the CPU's `rdpmc`, or a substitute.
pub trait Rdpmc {
    /// Reads counter `counter`, zero-extended from its width.
    ///
    /// # Safety
    /// The counter exists, and may be read in the current mode; see [`crate::cpu::rdpmc`].
    unsafe fn rdpmc(&self, counter: u32) -> u64;
}

/// Access to the model-specific registers of one CPU.
pub trait MsrPort {
    /// Reads a register, as `rdmsr` does.
    ///
    /// # Safety
    /// The CPU has the register, and the caller runs in ring 0 on that CPU.
    #[doc(alias = "rdmsr")]
    unsafe fn read(&mut self, register: u32) -> u64;

    /// Writes a register, as `wrmsr` does.
    ///
    /// # Safety
    /// Same as [`read`](Self::read). Besides, `value` sets no reserved bit, and no other code uses the
    /// register meanwhile.
    #[doc(alias = "wrmsr")]
    unsafe fn write(&mut self, register: u32, value: u64);
}

/// The CPU that executes the calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Rdpmc for Cpu {
    #[inline(always)]
    unsafe fn rdpmc(&self, counter: u32) -> u64 {
        // SAFETY: the caller's obligation is the same.
        unsafe { crate::cpu::rdpmc(counter) }
    }
}

#[cfg(feature = "ring0")]
impl MsrPort for Cpu {
    unsafe fn read(&mut self, register: u32) -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: the caller runs in ring 0 and the register exists. The operands are those of the
        // manual: the number in ecx, the value in edx:eax. The block counts as writing memory, so that
        // no access moves across it.
        unsafe {
            asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high,
                options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }

    unsafe fn write(&mut self, register: u32, value: u64) {
        let (low, high) = (value as u32, (value >> 32) as u32);
        // SAFETY: the caller runs in ring 0, and register and value are valid. The operands are as for
        // `rdmsr`.
        unsafe {
            asm!("wrmsr", in("ecx") register, in("eax") low, in("edx") high,
                options(nostack, preserves_flags));
        }
    }
}

/// The most general counters of a CPU that are used.
pub(super) const MOST: usize = 8;

/// The number of fixed counters that are used: instructions, core cycles, reference cycles.
pub(super) const FIXED: usize = 3;

/// The counter assigned to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// The general counter with this number.
    General(u8),
    /// The fixed counter with this number: 0 retired instructions, 1 core cycles, 2 reference cycles.
    Fixed(u8),
}

impl Slot {
    /// Returns the counter's number for `rdpmc`; fixed counters have bit 30 set.
    pub const fn number(self) -> u32 {
        match self {
            Slot::General(n) => n as u32,
            Slot::Fixed(n) => 1 << 30 | n as u32,
        }
    }

    /// Returns the counter's bit in the global registers. The counter is one that exists: a number from 32
    /// on would overflow.
    pub(super) const fn place(self) -> u64 {
        match self {
            Slot::General(n) => 1 << n,
            Slot::Fixed(n) => 1 << (32 + n),
        }
    }
}

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The value. Counters start at 0.
    pub value: u64,
    /// Whether the counter overflowed, so that the value is too small by a multiple of 2^width. `None`
    /// if this CPU does not report overflows.
    pub overflowed: Option<bool>,
}
