//! The three fences. Each is also a compiler fence: no memory access moves across it.
//!
//! Source: Intel SDM volume 2, "LFENCE", "MFENCE", "SFENCE"; volume 3A, section "Strengthening or
//! Weakening the Memory-Ordering Model".

// The intrinsics need an unsafe block each; the instructions themselves have no obligation.
#![allow(unsafe_code)]

use core::arch::asm;

/// `lfence`: no later instruction starts before every earlier one has completed.
///
/// The dispatch-serialising fence of a measurement. On AMD it is so when the operating system
/// has set bit 1 of DE_CFG, which Linux does (AMD, "Software techniques for managing speculation").
#[doc(alias = "_mm_lfence")]
#[inline(always)]
pub fn lfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("lfence", options(nostack, preserves_flags)) };
}

/// `sfence`: every earlier store, flush and write-combining buffer is globally visible before any
/// later store.
///
/// What a run of non-temporal stores or `clflushopt` ends with.
#[doc(alias = "_mm_sfence")]
#[inline(always)]
pub fn sfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

/// `mfence`: every earlier load, store and flush is globally visible before any later one.
///
/// Unlike [`lfence`] it does not hold back instructions that touch no memory, on every CPU.
#[doc(alias = "_mm_mfence")]
#[inline(always)]
pub fn mfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}
