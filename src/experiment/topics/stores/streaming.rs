//! Drepper 6.1, bypassing the cache: non-temporal stores.

// Calls the single-instruction stores on a region's memory.
#![allow(unsafe_code)]

use crate::cpu::{Features, movnti32, movnti64, sfence};
#[cfg(target_feature = "sse2")]
use crate::cpu::{movntdq, movntpd, movntps, movntq, movntsd, movntss, vmovntdq256, vmovntdq512};
use crate::experiment::prelude::*;
use crate::kernel::{Sweep, Temporal};
#[cfg(target_feature = "sse2")]
use core::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i, _mm_load_sd, _mm_load_ss};

pub mod matrix;

use matrix::MatrixSetup;

pub(crate) static ALL: &[Experiment] = &[INTRINSICS, matrix::FIG_6_1];

const STORES: [(&str, Temporal); 2] =
    [("cached stores", Temporal::Cached), ("non-temporal stores", Temporal::NonTemporal)];

const INTRINSICS: Experiment = Experiment {
    id: "E1",
    name: "drepper-nt-intrinsics",
    title: "Non-temporal stores and their widths",
    question: "Do all non-temporal stores write their data, and does their width matter?",
    source: "Drepper 6.1, the list of intrinsics",
    about: "A loop writes full lines in order by cached and by non-temporal stores of different \
            widths, beyond the caches. If the write-combining buffers fill faster than memory \
            empties them, the width of non-temporal stores should matter little. The widest store \
            has 64 bytes, a full line, and needs no combining. A second test checks that each kind \
            of non-temporal store writes all bytes of a page. The wider forms are newer than the \
            paper; `movntsd` and `movntss` belong to SSE4a, which only AMD's CPUs have, and \
            `movntq` stores an MMX register.",
    plot: Some(Plot::lines(
        Axis::log("bytes per store"),
        Axis::log("bandwidth"),
        Unit::GigabytesPerSecond,
    )),
    cases: |machine| {
        let arrival = |(store, name, bytes): (Streamed, &str, usize)| {
            Case::new(arrival(name), bytes as f64, ArriveSetup { store })
        };
        let mut cases: Vec<Case> = STREAMED.map(arrival).into();
        // Rows of whole lines, so that every width divides them.
        let bytes = machine.in_memory();
        for (series, temporal) in STORES {
            for width in [4_u32, 8, 16, 32, 64] {
                let setup = MatrixSetup {
                    rows: bytes >> 14,
                    row_bytes: 1 << 14,
                    sweep: Sweep::Row,
                    width: width as usize,
                    temporal,
                };
                cases.push(Case::new(series, width, setup));
            }
        }
        cases
    },
    curves: |e| e.curves_of(|label| STORES.iter().any(|(series, _)| *series == label)),
    events: events::STORES,
    claims: &[
        // The list of intrinsics for non-temporal stores: si32, si128, pd, pi, ps, sd, ss. The
        // wider intrinsics are later.
        counted(
            "E1.1",
            drepper("6.1"),
            "each non-temporal store that this CPU has writes every byte of a page",
            |e| {
                let mut parts = Vec::new();
                let all = PAGE as f64;
                for (store, name, bytes) in STREAMED {
                    match e.at(&arrival(name), bytes as f64) {
                        Ok(arrived) => parts.push(between(name, arrived, all, all)),
                        // A store that this CPU lacks does not affect the other stores.
                        Err(_) if NEWER.contains(&store) => {}
                        Err(untestable) => return Err(untestable),
                    }
                }
                all_of(parts)
            },
        ),
        // If write-combining fills whole lines, no read of memory is needed, and non-temporal
        // stores in sequence are as fast as cached ones, or faster.
        measured(
            "E1.2",
            drepper("6.1"),
            "in sequential order, 16-byte non-temporal stores are no slower than cached stores \
             (5 % allowed): no line is read first",
            |e| {
                beyond_caches(e.machine)?;
                let faster = ratio(e.at(STORES[1].0, 16.0), e.at(STORES[0].0, 16.0))?;
                at_least("non-temporal over cached bandwidth", faster, 0.95)
            },
        )
        .failing("Reading the lines first costs less on this machine than bypassing the caches."),
    ],
    ..Experiment::PLAIN
};

fn arrival(name: &str) -> String {
    format!("bytes arrived by {name}")
}

/// Fails, with the reason, if no allowed working set lies beyond the last-level cache.
pub(crate) fn beyond_caches(machine: &Machine) -> Testable<()> {
    let (largest, memory) = (machine.in_memory(), machine.ranges.memory);
    if memory.holds(largest as f64) {
        return Ok(());
    }
    Err(Untestable(format!(
        "the largest working set allowed, {} KiB, does not lie in the {memory}",
        largest / 1024
    )))
}

/// A non-temporal store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Streamed {
    Si32,
    Si64,
    Si128,
    Ps,
    Pd,
    Pi,
    Sd,
    Ss,
    Si256,
    Si512,
}

/// The stores that not every x86-64 CPU has: `Sd` and `Ss` need SSE4a, the wider ones AVX2 and AVX-512.
const NEWER: [Streamed; 4] = [Streamed::Sd, Streamed::Ss, Streamed::Si256, Streamed::Si512];

/// All non-temporal stores, in the order of [`Streamed`], with the names of their intrinsics and their bytes.
const STREAMED: [(Streamed, &str, usize); 10] = [
    (Streamed::Si32, "_mm_stream_si32", 4),
    (Streamed::Si64, "_mm_stream_si64", 8),
    (Streamed::Si128, "_mm_stream_si128", 16),
    (Streamed::Ps, "_mm_stream_ps", 16),
    (Streamed::Pd, "_mm_stream_pd", 16),
    (Streamed::Pi, "_mm_stream_pi", 8),
    (Streamed::Sd, "_mm_stream_sd", 8),
    (Streamed::Ss, "_mm_stream_ss", 4),
    (Streamed::Si256, "_mm256_stream_si256", 32),
    (Streamed::Si512, "_mm512_stream_si512", 64),
];

/// Set-up that fills a page by one kind of store and counts the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArriveSetup {
    pub store: Streamed,
}

impl Setup for ArriveSetup {
    fn bytes(&self) -> usize {
        PAGE
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        arrived(region, self.store, context.features).map(|bytes| Workload::Count(bytes as f64))
    }
}

/// Fills `region` by `store`. Returns the number of bytes that hold the stored value.
fn arrived(mut region: Region<'_>, store: Streamed, features: Features) -> Testable<usize> {
    // Every byte of the pattern differs from its neighbours and from the zeros before it was
    // stored.
    let pattern: [u8; 64] = core::array::from_fn(|index| 0xA0 ^ index as u8);
    region.bytes_mut().fill(0);
    let (_, name, width) = STREAMED[store as usize];
    #[cfg(target_feature = "sse2")]
    let lacking = |what: &str| Untestable(format!("{name} needs {what}, which this CPU lacks"));
    let words = pattern.as_ptr();
    for at in (0..region.len()).step_by(width) {
        let from = words.wrapping_add(at % 64);
        let to = (&raw mut region.bytes_mut()[at]).cast::<u8>();
        // SAFETY: `to` points to `width` bytes in the region, aligned to `width`; `from` points to
        // as many bytes in the pattern, which are read unaligned.
        unsafe {
            match store {
                Streamed::Si32 => movnti32(to.cast(), from.cast::<u32>().read_unaligned()),
                Streamed::Si64 => movnti64(to.cast(), from.cast::<u64>().read_unaligned()),
                #[cfg(target_feature = "sse2")]
                Streamed::Si128 => movntdq(to.cast(), from.cast::<__m128i>().read_unaligned()),
                #[cfg(target_feature = "sse2")]
                Streamed::Ps => movntps(to.cast(), from.cast::<__m128>().read_unaligned()),
                #[cfg(target_feature = "sse2")]
                Streamed::Pd => movntpd(to.cast(), from.cast::<__m128d>().read_unaligned()),
                #[cfg(target_feature = "sse2")]
                Streamed::Pi => movntq(to.cast(), from.cast::<u64>().read_unaligned()),
                #[cfg(target_feature = "sse2")]
                Streamed::Sd => movntsd(
                    features.sse4a().ok_or_else(|| lacking("SSE4a"))?,
                    to.cast(),
                    _mm_load_sd(from.cast()),
                ),
                #[cfg(target_feature = "sse2")]
                Streamed::Ss => movntss(
                    features.sse4a().ok_or_else(|| lacking("SSE4a"))?,
                    to.cast(),
                    _mm_load_ss(from.cast()),
                ),
                #[cfg(target_feature = "sse2")]
                Streamed::Si256 => vmovntdq256(
                    features.avx2().ok_or_else(|| lacking("AVX2"))?,
                    to.cast(),
                    from.cast::<__m256i>().read_unaligned(),
                ),
                #[cfg(target_feature = "sse2")]
                Streamed::Si512 => vmovntdq512(
                    features.avx512().ok_or_else(|| lacking("AVX-512"))?,
                    to.cast(),
                    from.cast::<__m512i>().read_unaligned(),
                ),
                #[cfg(not(target_feature = "sse2"))]
                _ => {
                    let _ = (features, name);
                    return Err(Untestable::without_vectors());
                }
            }
        }
    }
    sfence();
    let right = |(at, byte): &(usize, &u8)| **byte == pattern[at % 64];
    Ok(region.bytes().iter().enumerate().filter(right).count())
}
