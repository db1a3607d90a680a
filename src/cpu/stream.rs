//! Non-temporal stores and the non-temporal load.
//!
//! The stores bypass the caches through the write-combining (fill) buffers and are weakly ordered. End a
//! run of them with [`sfence`](super::sfence) before another CPU, or a read that must see them, relies
//! on it. A full line leaves as one transaction only if all of its bytes are written without a break.
//!
//! Each function has the name of its instruction and is the corresponding intrinsic of `core::arch`: one
//! inlined instruction in an optimised build, and a call in a debug build. If the whole program is
//! compiled for AVX, the 128-bit functions compile to the instructions' `v` forms. Functions beyond SSE2
//! (the loads, and the stores of 256 and 512 bits) have a `target_feature` and are inlined only into
//! callers that have it too. The compiler may omit a load whose value is not used.
//!
//! A soft-float target (`x86_64-unknown-none`, `-uefi`) cannot pass a vector to a function. It has only
//! [`movnti32`] and [`movnti64`], as assembly. The functions of [`by_address`](super::by_address), such
//! as [`movntdq_from`](super::by_address::movntdq_from), exist on every target.
//!
//! Source: Intel SDM volume 2B, "MOVNTI", "MOVNTDQ", "MOVNTPS", "MOVNTPD", "MOVNTQ", "MOVNTDQA"; AMD64
//! APM volume 4, "MOVNTSD", "MOVNTSS"; Drepper, "What every programmer should know about memory",
//! section 6.1.

// Stores through raw pointers whose validity and alignment only the caller knows.
#![allow(unsafe_code)]

#[cfg(target_feature = "sse2")]
use core::arch::{
    asm,
    x86_64::{self as intrinsics, __m128, __m128d, __m128i, __m256i, __m512i},
};

#[cfg(not(target_feature = "sse2"))]
use super::softfloat as intrinsics;
#[cfg(target_feature = "sse2")]
use super::token::{Avx2, Avx512, Sse4a, Sse41};

/// `movnti` of 32 bits: stores `value` at `dst`, bypassing the caches.
///
/// # Safety
/// `dst` is valid for a write of 4 bytes. No alignment is needed, but a store that crosses a line takes
/// two buffers.
#[doc(alias = "_mm_stream_si32")]
#[inline(always)]
pub unsafe fn movnti32(dst: *mut u32, value: u32) {
    // SAFETY: the caller vouches for `dst`.
    unsafe { intrinsics::_mm_stream_si32(dst.cast(), value.cast_signed()) };
}

/// `movnti` of 64 bits: stores `value` at `dst`, bypassing the caches.
///
/// # Safety
/// `dst` is valid for a write of 8 bytes. No alignment is needed, but a store that crosses a line takes
/// two buffers.
#[doc(alias = "_mm_stream_si64")]
#[inline(always)]
pub unsafe fn movnti64(dst: *mut u64, value: u64) {
    // SAFETY: the caller vouches for `dst`.
    unsafe { intrinsics::_mm_stream_si64(dst.cast(), value.cast_signed()) };
}

/// `movntdq` of 128 bits: stores `value` at `dst`, bypassing the caches.
///
/// # Safety
/// `dst` is valid for a write of 16 bytes and aligned to 16: otherwise the instruction faults.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_si128")]
#[inline(always)]
pub unsafe fn movntdq(dst: *mut __m128i, value: __m128i) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe { intrinsics::_mm_stream_si128(dst, value) };
}

/// `movntps`: [`movntdq`] for four single-precision numbers.
///
/// # Safety
/// As for [`movntdq`].
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_ps")]
#[inline(always)]
pub unsafe fn movntps(dst: *mut __m128, value: __m128) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe { intrinsics::_mm_stream_ps(dst.cast(), value) };
}

/// `movntpd`: [`movntdq`] for two double-precision numbers.
///
/// # Safety
/// As for [`movntdq`].
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_pd")]
#[inline(always)]
pub unsafe fn movntpd(dst: *mut __m128d, value: __m128d) {
    // SAFETY: the caller vouches for `dst` and its alignment.
    unsafe { intrinsics::_mm_stream_pd(dst.cast(), value) };
}

/// `movntsd`: stores the lower double-precision number of `value` at `dst`, bypassing the caches.
///
/// It is assembly, because the oldest supported Rust has no `target_feature` for it.
///
/// # Safety
/// `dst` is valid for a write of 8 bytes.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_sd")]
#[inline(always)]
pub unsafe fn movntsd(_has: Sse4a, dst: *mut f64, value: __m128d) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe {
        asm!(
            "movntsd [{dst}], {value}",
            dst = in(reg) dst,
            value = in(xmm_reg) value,
            options(nostack, preserves_flags)
        );
    }
}

/// `movntss`: stores the lowest single-precision number of `value` at `dst`, bypassing the caches.
///
/// It is assembly, because the oldest supported Rust has no `target_feature` for it.
///
/// # Safety
/// `dst` is valid for a write of 4 bytes.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_ss")]
#[inline(always)]
pub unsafe fn movntss(_has: Sse4a, dst: *mut f32, value: __m128) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe {
        asm!(
            "movntss [{dst}], {value}",
            dst = in(reg) dst,
            value = in(xmm_reg) value,
            options(nostack, preserves_flags)
        );
    }
}

/// `movntq` of 64 bits: stores `value` at `dst`, bypassing the caches, from an MMX register.
///
/// It is assembly, because Rust has neither MMX registers nor this intrinsic. The value goes into
/// register 0, and `emms` returns the registers to the x87 unit, whose stack must be empty, as it is at
/// every call.
///
/// # Safety
/// `dst` is valid for a write of 8 bytes.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_pi")]
#[inline(always)]
pub unsafe fn movntq(dst: *mut u64, value: u64) {
    // SAFETY: the caller vouches for `dst`; every register that changes is named.
    unsafe {
        asm!(
            "movq mm0, {value}",
            "movntq [{dst}], mm0",
            "emms",
            value = in(reg) value,
            dst = in(reg) dst,
            out("mm0") _, out("mm1") _, out("mm2") _, out("mm3") _,
            out("mm4") _, out("mm5") _, out("mm6") _, out("mm7") _,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack, preserves_flags),
        );
    }
}

/// `vmovntdq` of 256 bits: stores `value` at `dst`, bypassing the caches.
///
/// # Safety
/// `dst` is valid for a write of 32 bytes and aligned to 32: otherwise the instruction faults.
/// The token satisfies the `target_feature`.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm256_stream_si256")]
#[doc(alias = "vmovntdq")]
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn vmovntdq256(_has: Avx2, dst: *mut __m256i, value: __m256i) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe { intrinsics::_mm256_stream_si256(dst, value) };
}

/// `vmovntdq` of 512 bits, a whole line: stores `value` at `dst`, bypassing the caches.
///
/// # Safety
/// `dst` is valid for a write of 64 bytes and aligned to 64: otherwise the instruction faults.
/// The token satisfies the `target_feature`.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm512_stream_si512")]
#[doc(alias = "vmovntdq")]
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn vmovntdq512(_has: Avx512, dst: *mut __m512i, value: __m512i) {
    // SAFETY: the token proves the instruction; the caller vouches for `dst`.
    unsafe { intrinsics::_mm512_stream_si512(dst, value) };
}

/// `movntdqa` of 128 bits: loads from `src` with a non-temporal hint.
///
/// The hint is defined for write-combining memory; in ordinary write-back memory a CPU may treat the
/// instruction as a plain load.
///
/// # Safety
/// `src` is valid for a read of 16 bytes and aligned to 16: otherwise the instruction faults.
/// The token satisfies the `target_feature`.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm_stream_load_si128")]
#[inline]
#[target_feature(enable = "sse4.1")]
pub unsafe fn movntdqa(_has: Sse41, src: *const __m128i) -> __m128i {
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe { intrinsics::_mm_stream_load_si128(src) }
}

/// `vmovntdqa` of 256 bits: loads from `src` with a non-temporal hint.
///
/// # Safety
/// `src` is valid for a read of 32 bytes and aligned to 32: otherwise the instruction faults.
/// The token satisfies the `target_feature`.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm256_stream_load_si256")]
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn vmovntdqa256(_has: Avx2, src: *const __m256i) -> __m256i {
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe { intrinsics::_mm256_stream_load_si256(src) }
}

/// `vmovntdqa` of 512 bits, a whole line: loads from `src` with a non-temporal hint.
///
/// # Safety
/// `src` is valid for a read of 64 bytes and aligned to 64: otherwise the instruction faults.
/// The token satisfies the `target_feature`.
#[cfg(target_feature = "sse2")]
#[doc(alias = "_mm512_stream_load_si512")]
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn vmovntdqa512(_has: Avx512, src: *const __m512i) -> __m512i {
    // SAFETY: the token proves the instruction; the caller vouches for `src`.
    unsafe { intrinsics::_mm512_stream_load_si512(src) }
}
