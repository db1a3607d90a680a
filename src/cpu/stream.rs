//! Non-temporal stores and the non-temporal load.
//!
//! The stores bypass the caches by way of the write-combining (fill) buffers and are weakly
//! ordered: end a run of them with [`sfence`](super::sfence) before another CPU, or a read that
//! must see them, relies on it. A full line leaves as one transaction only if all of it is
//! written in one go.
//!
//! Each function is named after its instruction and is written as assembly, so that it is that one
//! instruction in a debug build too. The 256- and 512-bit ones carry a `target_feature` and are
//! inlined only into a caller that carries it as well.
//!
//! Source: Intel SDM volume 2B, "MOVNTI", "MOVNTDQ", "MOVNTPS", "MOVNTPD", "MOVNTDQA"; Drepper,
//! "What every programmer should know about memory", section 6.1.

// Stores through raw pointers whose validity and alignment only the caller knows.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i};

use super::token::{Avx2, Avx512, Sse41};

/// `movnti` of 32 bits: stores `value` at `dst` past the caches.
///
/// # Safety
/// `dst` is valid for a write of 4 bytes. No alignment is needed, though a store that crosses a
/// line fills two buffers.
#[doc(alias = "_mm_stream_si32")]
#[inline(always)]
pub unsafe fn movnti32(dst: *mut u32, value: u32) {
    // SAFETY: the caller vouches for `dst`.
    unsafe {
        asm!("movnti [{}], {:e}", in(reg) dst, in(reg) value, options(nostack, preserves_flags));
    }
}

/// `movnti` of 64 bits: stores `value` at `dst` past the caches.
///
/// # Safety
/// `dst` is valid for a write of 8 bytes. No alignment is needed, though a store that crosses a
/// line fills two buffers.
#[doc(alias = "_mm_stream_si64")]
#[inline(always)]
pub unsafe fn movnti64(dst: *mut u64, value: u64) {
    // SAFETY: the caller vouches for `dst`.
    unsafe {
        asm!("movnti [{}], {}", in(reg) dst, in(reg) value, options(nostack, preserves_flags));
    }
}

/// `movntdq` of 128 bits: stores `value` at `dst` past the caches.
///
/// # Safety
/// `dst` is valid for a write of 16 bytes and aligned to 16: otherwise the instruction faults.
#[doc(alias = "_mm_stream_si128")]
#[inline(always)]
pub unsafe fn movntdq(dst: *mut __m128i, value: __m128i) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe {
        asm!("movntdq [{}], {}", in(reg) dst, in(xmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// `movntps`: [`movntdq`] for four single-precision numbers.
///
/// # Safety
/// As for [`movntdq`].
#[doc(alias = "_mm_stream_ps")]
#[inline(always)]
pub unsafe fn movntps(dst: *mut __m128, value: __m128) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe {
        asm!("movntps [{}], {}", in(reg) dst, in(xmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// `movntpd`: [`movntdq`] for two double-precision numbers.
///
/// # Safety
/// As for [`movntdq`].
#[doc(alias = "_mm_stream_pd")]
#[inline(always)]
pub unsafe fn movntpd(dst: *mut __m128d, value: __m128d) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe {
        asm!("movntpd [{}], {}", in(reg) dst, in(xmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// `vmovntdq` of 256 bits: stores `value` at `dst` past the caches.
///
/// # Safety
/// `dst` is valid for a write of 32 bytes and aligned to 32: otherwise the instruction faults.
/// The token meets the `target_feature`.
#[doc(alias = "_mm256_stream_si256")]
#[doc(alias = "vmovntdq")]
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn vmovntdq256(_has: Avx2, dst: *mut __m256i, value: __m256i) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe {
        asm!("vmovntdq [{}], {}", in(reg) dst, in(ymm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// `vmovntdq` of 512 bits, a whole line: stores `value` at `dst` past the caches.
///
/// # Safety
/// `dst` is valid for a write of 64 bytes and aligned to 64: otherwise the instruction faults.
/// The token meets the `target_feature`.
#[doc(alias = "_mm512_stream_si512")]
#[doc(alias = "vmovntdq")]
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn vmovntdq512(_has: Avx512, dst: *mut __m512i, value: __m512i) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe {
        asm!("vmovntdq [{}], {}", in(reg) dst, in(zmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// `movntdqa` of 128 bits: loads from `src` with a non-temporal hint.
///
/// The hint is defined for write-combining memory; in ordinary write-back memory a CPU may take it
/// for a plain load.
///
/// # Safety
/// `src` is valid for a read of 16 bytes and aligned to 16: otherwise the instruction faults.
#[doc(alias = "_mm_stream_load_si128")]
#[inline(always)]
pub unsafe fn movntdqa(_has: Sse41, src: *const __m128i) -> __m128i {
    let value;
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe {
        asm!("movntdqa {}, [{}]", lateout(xmm_reg) value, in(reg) src,
             options(readonly, nostack, preserves_flags));
    }
    value
}

/// `vmovntdqa` of 256 bits: loads from `src` with a non-temporal hint.
///
/// # Safety
/// `src` is valid for a read of 32 bytes and aligned to 32: otherwise the instruction faults.
/// The token meets the `target_feature`.
#[doc(alias = "_mm256_stream_load_si256")]
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn vmovntdqa256(_has: Avx2, src: *const __m256i) -> __m256i {
    let value;
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe {
        asm!("vmovntdqa {}, [{}]", lateout(ymm_reg) value, in(reg) src,
             options(readonly, nostack, preserves_flags));
    }
    value
}

/// `vmovntdqa` of 512 bits, a whole line: loads from `src` with a non-temporal hint.
///
/// # Safety
/// `src` is valid for a read of 64 bytes and aligned to 64: otherwise the instruction faults.
/// The token meets the `target_feature`.
#[doc(alias = "_mm512_stream_load_si512")]
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn vmovntdqa512(_has: Avx512, src: *const __m512i) -> __m512i {
    let value;
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe {
        asm!("vmovntdqa {}, [{}]", lateout(zmm_reg) value, in(reg) src,
             options(readonly, nostack, preserves_flags));
    }
    value
}
