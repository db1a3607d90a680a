//! The time-stamp counter.
//!
//! Neither read is ordered against its neighbours the way a measurement needs; `time` puts the
//! fences around them. Source: Intel SDM volume 2B, "RDTSC" and "RDTSCP".

// Reading the counter is an instruction without a safe function in `core`.
#![allow(unsafe_code)]

use core::arch::asm;

use super::token::Rdtscp;

/// `rdtsc`: the time-stamp counter, in ticks.
///
/// Not ordered: the CPU may read the counter before earlier instructions have finished and start
/// later ones before it has. The compiler moves no memory access across it.
///
/// An operating system that sets CR4.TSD makes this fault outside ring 0; Linux does so only for
/// a process that asked for it (`prctl(PR_SET_TSC)`).
#[doc(alias = "_rdtsc")]
#[inline(always)]
pub fn rdtsc() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: `rdtsc` writes edx:eax and touches nothing else.
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// `rdtscp`: the time-stamp counter, in ticks, and IA32_TSC_AUX.
///
/// Waits until every earlier instruction has executed and every earlier load is globally visible;
/// later instructions may still start before it. Linux keeps `node << 12 | cpu` in IA32_TSC_AUX,
/// so two reads that differ there ran on two CPUs.
///
/// CPUs before 2008 lack it, and so do some virtual ones.
#[doc(alias = "__rdtscp")]
#[inline(always)]
pub fn rdtscp(_has: Rdtscp) -> (u64, u32) {
    let (low, high, aux): (u32, u32, u32);
    // SAFETY: the token proves `rdtscp`, which writes edx:eax and ecx and touches nothing else.
    unsafe {
        asm!("rdtscp", out("eax") low, out("edx") high, out("ecx") aux,
             options(nostack, preserves_flags));
    }
    (u64::from(high) << 32 | u64::from(low), aux)
}
