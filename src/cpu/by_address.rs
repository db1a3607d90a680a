//! Non-temporal vector stores and loads with both operands in memory.
//!
//! A soft-float target (`x86_64-unknown-none`, `-uefi`) cannot pass a vector to a function. These
//! functions take addresses instead, so they exist on every target. The functions of [`cpu`](super)
//! without `_from` and `_to` take and return vectors, and exist only where the target has SSE2.
//!
//! Each function is two instructions, always as assembly: a plain unaligned load into vector register 0
//! and the non-temporal store, or the non-temporal load and a plain unaligned store. The 256- and
//! 512-bit functions leave the upper half of the register in use: a caller that continues with legacy
//! SSE code executes `vzeroupper` after a run of them.
//!
//! In a kernel or boot program, the vector state must be enabled (CR4.OSFXSR; for 256 and 512 bits also
//! CR4.OSXSAVE and XCR0, which the tokens prove), and the caller must be free to change register 0.
//!
//! Source: Intel SDM volume 2B, "MOVNTDQ", "MOVNTPS", "MOVNTPD", "MOVNTDQA".

// Loads and stores through raw pointers whose validity and alignment only the caller knows.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i};

use super::token::{Avx2, Avx512, Sse41};

/// Defines functions that load from `src` with one instruction and store to `dst` with another.
macro_rules! by_address {
    ($(
        $(#[$doc:meta])*
        $name:ident($vector:ty $(, $has:ty)?): $load:literal, $store:literal, $register:tt;
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name($(_has: $has,)? dst: *mut $vector, src: *const $vector) {
            // SAFETY: the caller vouches for both addresses; the token proves the instructions that not
            // every x86-64 CPU has.
            unsafe {
                asm!(
                    concat!($load, " ", $register, ", [{src}]"),
                    concat!($store, " [{dst}], ", $register),
                    src = in(reg) src,
                    dst = in(reg) dst,
                    out($register) _,
                    options(nostack, preserves_flags),
                );
            }
        }
    )*};
}

by_address! {
    /// `movntdq` of 128 bits: copies the 16 bytes at `src` to `dst`, bypassing the caches.
    ///
    /// # Safety
    /// `src` is valid for a read of 16 bytes, of any alignment. `dst` is valid for a write of 16
    /// bytes and aligned to 16: otherwise the instruction faults.
    #[doc(alias = "_mm_stream_si128")]
    movntdq_from(__m128i): "movdqu", "movntdq", "xmm0";

    /// `movntps`: [`movntdq_from`] for four single-precision numbers.
    ///
    /// # Safety
    /// As for [`movntdq_from`].
    #[doc(alias = "_mm_stream_ps")]
    movntps_from(__m128): "movups", "movntps", "xmm0";

    /// `movntpd`: [`movntdq_from`] for two double-precision numbers.
    ///
    /// # Safety
    /// As for [`movntdq_from`].
    #[doc(alias = "_mm_stream_pd")]
    movntpd_from(__m128d): "movupd", "movntpd", "xmm0";

    /// `vmovntdq` of 256 bits: copies the 32 bytes at `src` to `dst`, bypassing the caches.
    ///
    /// # Safety
    /// `src` is valid for a read of 32 bytes, of any alignment. `dst` is valid for a write of 32
    /// bytes and aligned to 32: otherwise the instruction faults.
    #[doc(alias = "_mm256_stream_si256")]
    vmovntdq256_from(__m256i, Avx2): "vmovdqu", "vmovntdq", "ymm0";

    /// `vmovntdq` of 512 bits, a whole line: copies the 64 bytes at `src` to `dst`, bypassing the
    /// caches.
    ///
    /// # Safety
    /// `src` is valid for a read of 64 bytes, of any alignment. `dst` is valid for a write of 64
    /// bytes and aligned to 64: otherwise the instruction faults.
    #[doc(alias = "_mm512_stream_si512")]
    vmovntdq512_from(__m512i, Avx512): "vmovdqu64", "vmovntdq", "zmm0";

    /// `movntdqa` of 128 bits: loads the 16 bytes at `src` with a non-temporal hint and stores
    /// them at `dst`.
    ///
    /// # Safety
    /// `src` is valid for a read of 16 bytes and aligned to 16: otherwise the instruction faults.
    /// `dst` is valid for a write of 16 bytes, of any alignment.
    #[doc(alias = "_mm_stream_load_si128")]
    movntdqa_to(__m128i, Sse41): "movntdqa", "movdqu", "xmm0";

    /// `vmovntdqa` of 256 bits: loads the 32 bytes at `src` with a non-temporal hint and stores
    /// them at `dst`.
    ///
    /// # Safety
    /// `src` is valid for a read of 32 bytes and aligned to 32: otherwise the instruction faults.
    /// `dst` is valid for a write of 32 bytes, of any alignment.
    #[doc(alias = "_mm256_stream_load_si256")]
    vmovntdqa256_to(__m256i, Avx2): "vmovntdqa", "vmovdqu", "ymm0";

    /// `vmovntdqa` of 512 bits, a whole line: loads the 64 bytes at `src` with a non-temporal hint
    /// and stores them at `dst`.
    ///
    /// # Safety
    /// `src` is valid for a read of 64 bytes and aligned to 64: otherwise the instruction faults.
    /// `dst` is valid for a write of 64 bytes, of any alignment.
    #[doc(alias = "_mm512_stream_load_si512")]
    vmovntdqa512_to(__m512i, Avx512): "vmovntdqa", "vmovdqu64", "zmm0";
}
