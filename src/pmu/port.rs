//! The two ways into the counters: `rdpmc`, and model-specific registers.

// `rdpmc` and MSRs are instructions that fault where they are not allowed.
#![allow(unsafe_code)]

#[cfg(feature = "ring0")]
use core::arch::asm;

/// Something that reads performance counters as `rdpmc` does.
pub trait Rdpmc {
    /// Counter `counter`, zero-extended from its width.
    ///
    /// # Safety
    /// The counter exists and may be read here; see [`crate::cpu::rdpmc`].
    unsafe fn rdpmc(&self, counter: u32) -> u64;
}

/// Something that reads and writes the model-specific registers of one CPU.
pub trait MsrPort {
    /// `rdmsr`.
    ///
    /// # Safety
    /// The CPU has the register, and the caller runs in ring 0 on it.
    #[doc(alias = "rdmsr")]
    unsafe fn read(&mut self, register: u32) -> u64;

    /// `wrmsr`.
    ///
    /// # Safety
    /// As for [`read`](Self::read); `value` sets no reserved bit, and nobody else uses the
    /// register meanwhile.
    #[doc(alias = "wrmsr")]
    unsafe fn write(&mut self, register: u32, value: u64);
}

/// The CPU itself.
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
        // manual: the number in ecx, the value in edx:eax. Writing memory is assumed, so that no
        // access moves across.
        unsafe {
            asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high,
                options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }

    unsafe fn write(&mut self, register: u32, value: u64) {
        let (low, high) = (value as u32, (value >> 32) as u32);
        // SAFETY: the caller runs in ring 0, and register and value are valid. Operands as above.
        unsafe {
            asm!("wrmsr", in("ecx") register, in("eax") low, in("edx") high,
                options(nostack, preserves_flags));
        }
    }
}
