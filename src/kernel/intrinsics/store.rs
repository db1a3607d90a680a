//! `asm/stores/store.S` with volatile stores, `movnti` and the `_mm_stream_si*` intrinsics.

// Stores to addresses that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::{movnti32, movnti64};
use crate::kernel::intrinsics::one_at_a_time;
#[cfg(target_feature = "sse2")]
use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_set1_epi64x, _mm_stream_si128, _mm256_set1_epi64x,
    _mm256_stream_si256, _mm512_set1_epi64, _mm512_stream_si512,
};

/// Defines functions that broadcast the value to the width and store it repeatedly.
macro_rules! stores {
    ($(
        $(#[$attribute:meta])*
        $name:ident |$value:ident| $spread:expr, |$to:ident, $wide:ident| $store:expr;
    )*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// As for [`Stores`](crate::kernel::stores::store::Stores).
        #[inline(never)]
        pub unsafe extern "sysv64" fn $name(
            at: *mut u8,
            stride: usize,
            stores: u64,
            $value: u64,
        ) -> usize {
            let mut $to = at;
            // SAFETY: the caller vouches for the addresses and the instruction. The plain stores are
            // volatile, so that the compiler merges none of them.
            unsafe {
                let $wide = $spread;
                for _ in 0..stores {
                    $store;
                    $to = $to.wrapping_add(stride);
                    one_at_a_time();
                }
            }
            $to.addr()
        }
    )*};
}

stores! {
    /// `mov`, 4 bytes: the low half of the value. Like the other kernels here, 1 store per iteration.
    store4 |value| value as u32, |to, wide| to.cast::<u32>().write_volatile(wide);
    /// `mov`, 8 bytes.
    store8 |value| value, |to, wide| to.cast::<u64>().write_volatile(wide);
    /// `movnti`, 4 bytes: the low half of the value.
    stream4 |value| value as u32, |to, wide| movnti32(to.cast(), wide);
    /// `movnti`, 8 bytes.
    stream8 |value| value, |to, wide| movnti64(to.cast(), wide);
}

#[cfg(target_feature = "sse2")]
stores! {
    /// `movdqa`, 16 bytes.
    store16 |value| _mm_set1_epi64x(value.cast_signed()),
        |to, wide| to.cast::<__m128i>().write_volatile(wide);
    /// `vmovdqa`, 32 bytes: needs AVX2.
    #[target_feature(enable = "avx2")]
    store32 |value| _mm256_set1_epi64x(value.cast_signed()),
        |to, wide| to.cast::<__m256i>().write_volatile(wide);
    /// `vmovdqa64`, 64 bytes: needs AVX-512.
    #[target_feature(enable = "avx512f")]
    store64 |value| _mm512_set1_epi64(value.cast_signed()),
        |to, wide| to.cast::<__m512i>().write_volatile(wide);
    /// `movntdq`, 16 bytes.
    stream16 |value| _mm_set1_epi64x(value.cast_signed()),
        |to, wide| _mm_stream_si128(to.cast(), wide);
    /// `vmovntdq`, 32 bytes: needs AVX2.
    #[target_feature(enable = "avx2")]
    stream32 |value| _mm256_set1_epi64x(value.cast_signed()),
        |to, wide| _mm256_stream_si256(to.cast(), wide);
    /// `vmovntdq`, 64 bytes: needs AVX-512.
    #[target_feature(enable = "avx512f")]
    stream64 |value| _mm512_set1_epi64(value.cast_signed()),
        |to, wide| _mm512_stream_si512(to.cast(), wide);
}
