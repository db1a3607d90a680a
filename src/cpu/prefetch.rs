//! Software prefetch. Every address is allowed: a prefetch that would fault is dropped.
//!
//! Four of the five prefetches are the intrinsic `_mm_prefetch`: one inlined instruction in an optimised
//! build, and a call in a debug build. `prefetchw` is assembly everywhere, because `_MM_HINT_ET0`
//! compiles to `prefetcht0` unless the target enables `prfchw`. On soft-float targets all five are
//! assembly. The compiler deletes no prefetch, but may move a plain access of other memory across it.
//!
//! Source: Intel SDM volume 2B, "PREFETCHh" and "PREFETCHW".

// Calls intrinsics that are unsafe outside a function with their target feature, and assembly.
#![allow(unsafe_code)]

use core::arch::asm;
#[cfg(target_feature = "sse2")]
use core::arch::x86_64 as intrinsics;
use core::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _MM_HINT_T2};

#[cfg(not(target_feature = "sse2"))]
use super::softfloat as intrinsics;

/// A prefetch instruction: it selects the target level, or the intent to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// `prefetcht0`: into every level, for a read.
    T0,
    /// `prefetcht1`: into the L2 and the levels beyond.
    T1,
    /// `prefetcht2`: into the last level; most Intel cores treat it as `prefetcht1`.
    T2,
    /// `prefetchnta`: near the core with the least pollution of the other levels.
    Nta,
    /// `prefetchw`: into the L1d in a writable state, for a store.
    Write,
}

impl Hint {
    /// Every hint, in the order of the declaration.
    pub const ALL: [Hint; 5] = [Hint::T0, Hint::T1, Hint::T2, Hint::Nta, Hint::Write];

    /// Returns the instruction's mnemonic.
    pub const fn name(self) -> &'static str {
        match self {
            Hint::T0 => "prefetcht0",
            Hint::T1 => "prefetcht1",
            Hint::T2 => "prefetcht2",
            Hint::Nta => "prefetchnta",
            Hint::Write => "prefetchw",
        }
    }
}

/// Prefetches the line that holds `ptr` with the instruction that `hint` selects.
///
/// With a constant `hint` this compiles to that one instruction. Otherwise a branch precedes the
/// instruction, so choose the hint outside a timed loop.
#[inline(always)]
pub fn prefetch(hint: Hint, ptr: *const u8) {
    match hint {
        Hint::T0 => prefetcht0(ptr),
        Hint::T1 => prefetcht1(ptr),
        Hint::T2 => prefetcht2(ptr),
        Hint::Nta => prefetchnta(ptr),
        Hint::Write => prefetchw(ptr),
    }
}

/// `prefetcht0`: prefetches the line that holds `ptr` into every cache level.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht0(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T0>(ptr.cast()) };
}

/// `prefetcht1`: prefetches the line that holds `ptr` into the L2 and the levels beyond.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht1(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T1>(ptr.cast()) };
}

/// `prefetcht2`: prefetches the line that holds `ptr` into the last level, or into the L2 if the CPU
/// treats it as `prefetcht1`.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht2(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T2>(ptr.cast()) };
}

/// `prefetchnta`: prefetches the line that holds `ptr` as data that is used once.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetchnta(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_NTA>(ptr.cast()) };
}

/// `prefetchw`: prefetches the line that holds `ptr` into the L1d and invalidates other cores' copies.
///
/// Takes no token: a CPU that does not list [`Feature::Prefetchw`](super::Feature::Prefetchw) executes
/// the opcode as a no-op, except Intel's first 64-bit CPUs (before 2006), where it may be undefined.
/// Check [`Features::prefetchw`](super::Features::prefetchw) before a measurement.
#[doc(alias = "_m_prefetchw")]
#[doc(alias = "_MM_HINT_ET0")]
#[inline(always)]
pub fn prefetchw(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { asm!("prefetchw [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags)) };
}
