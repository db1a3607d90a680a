//! Writing lines back and moving them outwards: to memory, or to a level further from the core.
//!
//! [`clflush`] is the intrinsic: one instruction, inlined, in an optimised build, and a call in a
//! debug build. `core` has none for the others, which are assembly, as `clflush` is on soft-float
//! targets.
//!
//! Source: Intel SDM volume 2A, "CLFLUSH", "CLFLUSHOPT", "CLWB", "CLDEMOTE".

// The pointer has to be mapped, which only the caller can know.
#![allow(unsafe_code)]

use core::arch::asm;
#[cfg(target_feature = "sse2")]
use core::arch::x86_64 as intrinsics;

#[cfg(not(target_feature = "sse2"))]
use super::softfloat as intrinsics;
use super::token::{Cldemote, Clflushopt, Clwb};

/// `clflush`: evicts the line that holds `ptr` from every cache, writing it back if modified.
///
/// Ordered against other `clflush` and stores, so a run of them is slow: see [`clflushopt`].
/// Memory keeps its contents. End with [`mfence`](super::mfence).
///
/// # Safety
/// `ptr` lies in memory mapped readable for this thread: the instruction faults as a byte load
/// from it would. No alignment is needed.
#[doc(alias = "_mm_clflush")]
#[inline(always)]
pub unsafe fn clflush(ptr: *const u8) {
    // SAFETY: the caller vouches that a byte load from `ptr` would not fault.
    unsafe { intrinsics::_mm_clflush(ptr) };
}

/// `clflushopt`: [`clflush`], unordered against flushes of other lines.
///
/// End with [`sfence`](super::sfence), or [`mfence`](super::mfence) before loads are timed.
///
/// # Safety
/// As for [`clflush`].
#[doc(alias = "_mm_clflushopt")]
#[inline(always)]
pub unsafe fn clflushopt(_has: Clflushopt, ptr: *const u8) {
    // SAFETY: the token proves the instruction; the caller vouches for `ptr`.
    unsafe { asm!("clflushopt [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}

/// `clwb`: writes the line that holds `ptr` back to memory; the line may stay in the caches.
///
/// End with [`sfence`](super::sfence). A CPU may evict the line all the same; Skylake-SP does.
///
/// # Safety
/// As for [`clflush`].
#[doc(alias = "_mm_clwb")]
#[inline(always)]
pub unsafe fn clwb(_has: Clwb, ptr: *const u8) {
    // SAFETY: the token proves the instruction; the caller vouches for `ptr`.
    unsafe { asm!("clwb [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}

/// `cldemote`: asks for the line that holds `ptr` to be moved to a cache further from this core,
/// where others find it sooner.
///
/// A hint, and like a prefetch it does not fault, whatever the address.
#[doc(alias = "_mm_cldemote")]
#[inline(always)]
pub fn cldemote(_has: Cldemote, ptr: *const u8) {
    // SAFETY: the token proves the instruction, which cannot fault and changes no content.
    unsafe { asm!("cldemote [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}
