//! Software prefetch. Any address will do: a prefetch that would fault is dropped.
//!
//! Four of the five are the intrinsic `_mm_prefetch`: one instruction, inlined, in an optimised
//! build, and a call in a debug build. `prefetchw` is assembly everywhere, because `_MM_HINT_ET0`
//! compiles to `prefetcht0` unless the target enables `prfchw`; so are all five on soft-float
//! targets. The compiler deletes none of them, but may move a plain access of other memory across
//! one.
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

/// Which prefetch instruction: the level aimed at, or the intent to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// `prefetcht0`: into every level, for a read.
    T0,
    /// `prefetcht1`: into the L2 and further out.
    T1,
    /// `prefetcht2`: into the last level; most Intel cores treat it as `prefetcht1`.
    T2,
    /// `prefetchnta`: near the core with the least pollution of the other levels.
    Nta,
    /// `prefetchw`: into the L1d in a writable state, for a store.
    Write,
}

impl Hint {
    /// Every hint, in the order above.
    pub const ALL: [Hint; 5] = [Hint::T0, Hint::T1, Hint::T2, Hint::Nta, Hint::Write];

    /// The instruction's mnemonic.
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

/// Prefetches the line that holds `ptr` as `hint` says.
///
/// With a constant `hint` this is the one instruction; otherwise a branch precedes it, so keep
/// the choice out of a timed loop.
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

/// `prefetcht0`: the line that holds `ptr` into every cache level.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht0(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T0>(ptr.cast()) };
}

/// `prefetcht1`: the line that holds `ptr` into the L2 and the levels beyond.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht1(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T1>(ptr.cast()) };
}

/// `prefetcht2`: the line that holds `ptr` into the last level, or the L2 where the CPU makes no
/// difference.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetcht2(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_T2>(ptr.cast()) };
}

/// `prefetchnta`: the line that holds `ptr`, as data that is used once.
#[doc(alias = "_mm_prefetch")]
#[inline(always)]
pub fn prefetchnta(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { intrinsics::_mm_prefetch::<_MM_HINT_NTA>(ptr.cast()) };
}

/// `prefetchw`: the line that holds `ptr` into the L1d, other cores' copies invalidated.
///
/// Takes no token: a CPU that does not list [`Feature::Prefetchw`](super::Feature::Prefetchw)
/// takes the opcode for a no-op, save Intel's first 64-bit ones (before 2006), where it may be
/// undefined. A measurement asks [`Features::prefetchw`](super::Features::prefetchw) first.
#[doc(alias = "_m_prefetchw")]
#[doc(alias = "_MM_HINT_ET0")]
#[inline(always)]
pub fn prefetchw(ptr: *const u8) {
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe { asm!("prefetchw [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags)) };
}
