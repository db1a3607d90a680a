//! Instructions that flush, write back and demote lines, and the three fences. A fence is also a
//! compiler fence: no memory access moves across it.
//!
//! [`clflush`] and the fences are the intrinsics: one inlined instruction in an optimised build, and a
//! call in a debug build. On soft-float targets they are assembly. The other instructions have no
//! intrinsic in `core` and are assembly everywhere.
//!
//! `core` does not document that its fences bind the compiler. They do, because LLVM treats each as a
//! call that may read and write any memory, and `tests/kernels/instructions.rs` checks the accesses on
//! both sides. The clock of [`time`](crate::time) keeps its fences and its counter in one block of
//! assembly, because nothing may come between them.
//!
//! Source: Intel SDM volume 2, "CLFLUSH", "CLFLUSHOPT", "CLWB", "CLDEMOTE", "LFENCE", "MFENCE", "SFENCE";
//! volume 3A, section "Strengthening or Weakening the Memory-Ordering Model".

// The pointer of a flush has to be mapped, which only the caller can know. The intrinsics of the fences
// each need an unsafe block; the instructions themselves have no obligation.
#![allow(unsafe_code)]

#[cfg(not(target_feature = "sse2"))]
use super::softfloat as intrinsics;
use super::token::{Cldemote, Clflushopt, Clwb};
#[cfg(hosted)]
use crate::mem::LINE;
use core::arch::asm;
#[cfg(target_feature = "sse2")]
use core::arch::x86_64 as intrinsics;

/// `clflush`: evicts the line that holds `ptr` from every cache, writing it back if modified.
///
/// `clflush` is ordered against other `clflush` and stores, so a run of them is slow: see
/// [`clflushopt`]. Memory keeps its contents. End a run with [`mfence`](super::mfence).
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

/// `clflushopt`: does the same as [`clflush`], but unordered against flushes of other lines.
///
/// End a run with [`sfence`](super::sfence), or with [`mfence`](super::mfence) before loads are timed.
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
/// End a run with [`sfence`](super::sfence). A CPU may evict the line nevertheless; Skylake-SP does.
///
/// # Safety
/// As for [`clflush`].
#[doc(alias = "_mm_clwb")]
#[inline(always)]
pub unsafe fn clwb(_has: Clwb, ptr: *const u8) {
    // SAFETY: the token proves the instruction; the caller vouches for `ptr`.
    unsafe { asm!("clwb [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}

/// `cldemote`: hints that the line that holds `ptr` should move to a cache further from this core, where
/// other cores find it sooner.
///
/// Like a prefetch, it never faults, whatever the address.
#[doc(alias = "_mm_cldemote")]
#[inline(always)]
pub fn cldemote(_has: Cldemote, ptr: *const u8) {
    // SAFETY: the token proves the instruction, which cannot fault and changes no content.
    unsafe { asm!("cldemote [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}

/// `lfence`: no later instruction starts before every earlier one has completed.
///
/// This is the dispatch-serialising fence for measurements. On AMD it serialises if the operating system
/// has set bit 1 of DE_CFG, which Linux does (AMD, "Software techniques for managing speculation"). Without
/// one, [`make_lfence_wait`](crate::time::make_lfence_wait) sets it.
#[doc(alias = "_mm_lfence")]
#[inline(always)]
pub fn lfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_lfence() };
}

/// `sfence`: every earlier store, flush and write-combining buffer is globally visible before any
/// later store.
///
/// Ends a run of non-temporal stores or `clflushopt`.
#[doc(alias = "_mm_sfence")]
#[inline(always)]
pub fn sfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_sfence() };
}

/// `mfence`: every earlier load, store and flush is globally visible before any later one.
///
/// Unlike [`lfence`], it does not, on every CPU, hold back instructions that touch no memory.
#[doc(alias = "_mm_mfence")]
#[inline(always)]
pub fn mfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { intrinsics::_mm_mfence() };
}

/// Flushes the lines of `bytes` bytes, starting with the line at `first`.
///
/// A pattern that was laid out a moment ago is partly in the caches. A walk over much more than they
/// hold would hit it on its first lap, and never again.
///
/// # Safety
/// The bytes are mapped and readable.
#[cfg(hosted)]
pub(crate) unsafe fn flush_bytes(first: *const u8, bytes: usize, features: &super::Features) {
    let lines = (0..bytes).step_by(LINE).map(|at| first.wrapping_add(at));
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match features.clflushopt() {
            Some(token) => lines.for_each(|line| clflushopt(token, line)),
            None => lines.for_each(|line| clflush(line)),
        }
    }
    mfence();
}
