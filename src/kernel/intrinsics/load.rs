//! `asm/stream/load.S` with `_mm_load_si128`, `_mm_stream_load_si128` and their wider forms.

// Loads from addresses that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::kernel::intrinsics::one_at_a_time;
use crate::mem::LINE;
use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi64, _mm_load_si128, _mm_setzero_si128,
    _mm_stream_load_si128, _mm256_add_epi64, _mm256_load_si256, _mm256_setzero_si256,
    _mm256_stream_load_si256, _mm512_add_epi64, _mm512_load_si512, _mm512_setzero_si512,
    _mm512_stream_load_si512,
};

/// Defines functions that read lines with `$load`, with a separate sum for each load of a line. The loads
/// are written out so that no optimisation level has a loop over them.
macro_rules! loads {
    ($(
        $(#[$attribute:meta])*
        $name:ident($vector:ty, $zero:ident, $add:ident, $load:ident) [$($nth:literal)*];
    )*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// As for [`Loads`](crate::kernel::stream::load::Loads).
        #[inline(never)]
        pub unsafe extern "sysv64" fn $name(at: *const u8, lines: u64) -> u64 {
            const LOADS: usize = LINE / size_of::<$vector>();
            let mut line = at.cast::<$vector>();
            // SAFETY: the caller vouches for the lines and the instruction; a line of vectors is eight
            // words, whatever the width of the vectors.
            let [a, b, c, d, e, f, g, h]: [u64; LINE / 8] = unsafe {
                let mut sums = [$zero(); LOADS];
                for _ in 0..lines {
                    $(sums[$nth] = $add(sums[$nth], $load(line.wrapping_add($nth)));)*
                    line = line.wrapping_add(LOADS);
                    one_at_a_time();
                }
                core::mem::transmute(sums)
            };
            let add = u64::wrapping_add;
            add(add(add(a, b), add(c, d)), add(add(e, f), add(g, h)))
        }
    )*};
}

loads! {
    /// `movdqa`: 4 loads of 16 bytes per iteration.
    cached(__m128i, _mm_setzero_si128, _mm_add_epi64, _mm_load_si128) [0 1 2 3];
    /// `movntdqa`: 4 loads of 16 bytes per iteration; needs SSE4.1.
    #[target_feature(enable = "sse4.1")]
    stream(__m128i, _mm_setzero_si128, _mm_add_epi64, _mm_stream_load_si128) [0 1 2 3];
    /// `vmovdqa`: 2 loads of 32 bytes per iteration; needs AVX2.
    #[target_feature(enable = "avx2")]
    cached32(__m256i, _mm256_setzero_si256, _mm256_add_epi64, _mm256_load_si256) [0 1];
    /// `vmovntdqa`: 2 loads of 32 bytes per iteration; needs AVX2.
    #[target_feature(enable = "avx2")]
    stream32(__m256i, _mm256_setzero_si256, _mm256_add_epi64, _mm256_stream_load_si256) [0 1];
    /// `vmovdqa64`: 1 load of 64 bytes per iteration; needs AVX-512.
    #[target_feature(enable = "avx512f")]
    cached64(__m512i, _mm512_setzero_si512, _mm512_add_epi64, _mm512_load_si512) [0];
    /// `vmovntdqa`: 1 load of 64 bytes per iteration; needs AVX-512.
    #[target_feature(enable = "avx512f")]
    stream64(__m512i, _mm512_setzero_si512, _mm512_add_epi64, _mm512_stream_load_si512) [0];
}
