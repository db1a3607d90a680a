//! The three fences. Each is also a compiler fence: no memory access moves across it.
//!
//! They are the intrinsics: one instruction, inlined, in an optimised build, and a call in a debug
//! build; assembly on soft-float targets. `core` does not say that its fences bind the compiler.
//! They do, because LLVM takes each for a call that may read and write any memory, and
//! `tests/kernels/instructions.rs` looks for the accesses on both sides. The clock of [`time`](crate::time)
//! has its fences in one block of assembly with its counter, for nothing must come between them.
//!
//! Source: Intel SDM volume 2, "LFENCE", "MFENCE", "SFENCE"; volume 3A, section "Strengthening or
//! Weakening the Memory-Ordering Model".

// The intrinsics need an unsafe block each; the instructions themselves have no obligation.
#![allow(unsafe_code)]

#[cfg(target_feature = "sse2")]
use core::arch::x86_64 as intrinsics;

#[cfg(not(target_feature = "sse2"))]
use super::softfloat as intrinsics;

/// `lfence`: no later instruction starts before every earlier one has completed.
///
/// The dispatch-serialising fence of a measurement. On AMD it is so when the operating system
/// has set bit 1 of DE_CFG, which Linux does (AMD, "Software techniques for managing speculation").
#[doc(alias = "_mm_lfence")]
#[inline(always)]
pub fn lfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_lfence() };
}

/// `sfence`: every earlier store, flush and write-combining buffer is globally visible before any
/// later store.
///
/// What a run of non-temporal stores or `clflushopt` ends with.
#[doc(alias = "_mm_sfence")]
#[inline(always)]
pub fn sfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_sfence() };
}

/// `mfence`: every earlier load, store and flush is globally visible before any later one.
///
/// Unlike [`lfence`] it does not hold back instructions that touch no memory, on every CPU.
#[doc(alias = "_mm_mfence")]
#[inline(always)]
pub fn mfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_mfence() };
}
