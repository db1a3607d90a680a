//! Non-temporal stores of every kind, and whether their bytes arrive.

// Calls the single-instruction stores on a region's memory.
#![allow(unsafe_code)]

use core::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i};

use crate::cpu::{
    Features, movntdq, movnti32, movnti64, movntpd, movntps, sfence, vmovntdq256, vmovntdq512,
};
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::mem::Region;

/// A non-temporal store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Streamed {
    /// `movnti` of 4 bytes (`_mm_stream_si32`).
    Si32,
    /// `movnti` of 8 bytes (`_mm_stream_si64`).
    Si64,
    /// `movntdq` (`_mm_stream_si128`).
    Si128,
    /// `movntps` (`_mm_stream_ps`).
    Ps,
    /// `movntpd` (`_mm_stream_pd`).
    Pd,
    /// `vmovntdq` of 32 bytes (`_mm256_stream_si256`).
    Si256,
    /// `vmovntdq` of 64 bytes (`_mm512_stream_si512`).
    Si512,
}

impl Streamed {
    /// All of them.
    pub const ALL: [Streamed; 7] = [
        Streamed::Si32,
        Streamed::Si64,
        Streamed::Si128,
        Streamed::Ps,
        Streamed::Pd,
        Streamed::Si256,
        Streamed::Si512,
    ];

    /// The intrinsic's name.
    pub const fn name(self) -> &'static str {
        match self {
            Streamed::Si32 => "_mm_stream_si32",
            Streamed::Si64 => "_mm_stream_si64",
            Streamed::Si128 => "_mm_stream_si128",
            Streamed::Ps => "_mm_stream_ps",
            Streamed::Pd => "_mm_stream_pd",
            Streamed::Si256 => "_mm256_stream_si256",
            Streamed::Si512 => "_mm512_stream_si512",
        }
    }

    /// Bytes of the store.
    pub const fn bytes(self) -> usize {
        match self {
            Streamed::Si32 => 4,
            Streamed::Si64 => 8,
            Streamed::Si128 | Streamed::Ps | Streamed::Pd => 16,
            Streamed::Si256 => 32,
            Streamed::Si512 => 64,
        }
    }
}

/// Fills a page by one kind of store and counts the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArriveSetup {
    /// The store.
    pub store: Streamed,
}

impl Setup for ArriveSetup {
    fn bytes(&self) -> usize {
        crate::mem::PAGE
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        arrived(region, self.store, context.features).map(|bytes| Subject::Count(bytes as f64))
    }
}

/// Bytes of `region` that hold what `store` wrote there.
fn arrived(
    mut region: Region<'_>,
    store: Streamed,
    features: Features,
) -> Result<usize, Untestable> {
    // Every byte of the pattern differs from its neighbours and from what lay there before.
    let pattern: [u8; 64] = core::array::from_fn(|index| 0xA0 ^ index as u8);
    region.bytes_mut().fill(0);
    let lacking = |what: &str| {
        Untestable(format!(
            "{} needs {what}, which this CPU lacks",
            store.name()
        ))
    };
    let width = store.bytes();
    let words = pattern.as_ptr();
    for at in (0..region.len()).step_by(width) {
        let from = words.wrapping_add(at % 64);
        let to = (&raw mut region.bytes_mut()[at]).cast::<u8>();
        // SAFETY: `to` has `width` bytes in the region, aligned to them, and `from` has as many in
        // the pattern, read unaligned.
        unsafe {
            match store {
                Streamed::Si32 => movnti32(to.cast(), from.cast::<u32>().read_unaligned()),
                Streamed::Si64 => movnti64(to.cast(), from.cast::<u64>().read_unaligned()),
                Streamed::Si128 => movntdq(to.cast(), from.cast::<__m128i>().read_unaligned()),
                Streamed::Ps => movntps(to.cast(), from.cast::<__m128>().read_unaligned()),
                Streamed::Pd => movntpd(to.cast(), from.cast::<__m128d>().read_unaligned()),
                Streamed::Si256 => vmovntdq256(
                    features.avx2().ok_or_else(|| lacking("AVX2"))?,
                    to.cast(),
                    from.cast::<__m256i>().read_unaligned(),
                ),
                Streamed::Si512 => vmovntdq512(
                    features.avx512().ok_or_else(|| lacking("AVX-512"))?,
                    to.cast(),
                    from.cast::<__m512i>().read_unaligned(),
                ),
            }
        }
    }
    sfence();
    let right = |(at, byte): &(usize, &u8)| **byte == pattern[at % 64];
    Ok(region.bytes().iter().enumerate().filter(right).count())
}
