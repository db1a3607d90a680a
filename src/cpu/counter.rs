//! Reading a performance counter. `core` has no intrinsic for it.
//!
//! Source: Intel SDM volume 2B, "RDPMC"; AMD64 APM volume 3, "RDPMC".

// Whether the instruction may be executed is the operating system's choice.
#![allow(unsafe_code)]

use core::arch::asm;

/// `rdpmc`: performance counter `counter`, zero-extended from its width (40 to 48 bits).
///
/// On Intel `counter` is the number of a general counter, or `1 << 30 | n` for fixed counter `n`.
/// Not ordered against other instructions.
///
/// # Safety
/// The CPU has this counter and CR4.PCE is set, or the caller runs in ring 0: otherwise the
/// general-protection fault ends the process (SIGSEGV). On Linux ask the `perf_event` page's
/// `cap_user_rdpmc` first and never try to see; it is normal for a virtual machine to have none.
#[doc(alias = "_rdpmc")]
#[inline(always)]
pub unsafe fn rdpmc(counter: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller vouches that the counter may be read; only edx:eax is written.
    unsafe {
        asm!("rdpmc", in("ecx") counter, out("eax") low, out("edx") high,
             options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}
