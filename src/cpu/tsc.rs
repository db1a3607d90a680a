//! The time-stamp counter.
//!
//! Both are the intrinsics, on every target: one instruction, inlined, in an optimised build, and a
//! call in a debug build.
//!
//! Neither read is ordered against its neighbours the way a measurement needs; `time` puts the
//! fences around them. Source: Intel SDM volume 2B, "RDTSC" and "RDTSCP".

// Reading the counter is an unsafe function in `core`.
#![allow(unsafe_code)]

use core::arch::x86_64::{__rdtscp, _rdtsc};

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
    // SAFETY: reads a counter and touches nothing else; every x86-64 CPU has it.
    unsafe { _rdtsc() }
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
    let mut aux = 0;
    // SAFETY: the token proves the instruction, which writes `aux` and registers alone.
    let ticks = unsafe { __rdtscp(&mut aux) };
    (ticks, aux)
}
