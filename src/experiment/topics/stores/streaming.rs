//! Drepper 6.1, bypassing the cache: the non-temporal stores, Figure 6.1 and Table 6.1.

// Calls the single-instruction stores on a region's memory.
#![allow(unsafe_code)]

use crate::cpu::{
    Features, movntdq, movnti32, movnti64, movntpd, movntps, movntq, movntsd, movntss, sfence,
    vmovntdq256, vmovntdq512,
};
use crate::experiment::machine::predict::{Flow, moved};
use crate::experiment::prelude::*;
use crate::kernel::{Store, Sweep, Temporal, Width};
use crate::mem::{PAGE, Region};
use crate::pattern::Matrix;
use crate::stats::Interval;
use core::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i, _mm_load_sd, _mm_load_ss};

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[INTRINSICS, FIG_6_1];

const STORES: [(&str, Temporal); 2] = [
    ("cached stores", Temporal::Cached),
    ("non-temporal stores", Temporal::NonTemporal),
];

const INTRINSICS: Experiment = Experiment {
    id: "E1",
    name: "drepper-nt-intrinsics",
    title: "Non-temporal stores and their widths",
    question: "Do all non-temporal stores write their data, and does their width matter?",
    source: "Drepper 6.1, the list of intrinsics",
    seen: &[],
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
        let mut cases: Vec<Case> = Streamed::ALL
            .into_iter()
            .map(|store| {
                let bytes = store.bytes() as f64;
                Case::new(arrival(store), bytes, ArriveSetup { store })
            })
            .collect();
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
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| STORES.iter().any(|(series, _)| *series == curve.label));
        curves
    },
    events: events::STORES,
    claims: &[
        // The list of intrinsics for non-temporal stores: si32, si128, pd, pi, ps, sd, ss. The
        // wider ones are later.
        counted(
            "E1.1",
            drepper("6.1"),
            "each non-temporal store that this CPU has writes every byte of a page",
            |e| {
                let mut parts = Vec::new();
                for store in Streamed::ALL {
                    let x = store.bytes() as f64;
                    match e.at(&arrival(store), x) {
                        Ok(bytes) => {
                            let all = PAGE as f64;
                            parts.push(between(store.name(), bytes, all, all));
                        }
                        // A store that this CPU lacks says nothing of the others.
                        Err(_) if !store.everywhere() => {}
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
            "in sequential order, 16-byte non-temporal stores are no slower than cached stores: no \
             line is read first",
            |e| {
                beyond_caches(e.machine)?;
                let faster = ratio(e.at(STORES[1].0, 16.0), e.at(STORES[0].0, 16.0))?;
                at_least("non-temporal over cached bandwidth", faster, 1.0)
            },
        )
        .failing("Reading the lines first costs less on this machine than bypassing the caches."),
    ],
};

fn arrival(store: Streamed) -> String {
    format!("bytes arrived by {}", store.name())
}

/// The reason, if no working set allowed lies beyond the last-level cache.
pub(crate) fn beyond_caches(machine: &Machine) -> Result<(), Untestable> {
    let (largest, memory) = (machine.in_memory(), machine.ranges.memory);
    if memory.holds(largest as f64) {
        return Ok(());
    }
    Err(Untestable(format!(
        "the largest working set allowed, {} KiB, does not lie in the {memory}",
        largest / 1024
    )))
}

/// The paper's matrix: 3000 x 3000 elements of 4 bytes.
const PAPER: usize = 3000;

const SWEEPS: [(&str, Sweep, Temporal); 4] = [
    ("normal, by row", Sweep::Row, Temporal::Cached),
    ("normal, by column", Sweep::Column, Temporal::Cached),
    ("non-temporal, by row", Sweep::Row, Temporal::NonTemporal),
    (
        "non-temporal, by column",
        Sweep::Column,
        Temporal::NonTemporal,
    ),
];

const FIG_6_1: Experiment = Experiment {
    id: "E4",
    name: "drepper-fig-6.1",
    title: "Initialising a matrix by row and by column",
    question: "When are stores that bypass the cache faster, and when are they slower?",
    source: "Drepper 6.1, Figure 6.1 and Table 6.1: a 3000 x 3000 matrix of 4-byte elements; 5.3 \
             ns per store by row, 14.1 normal and 17.8 non-temporal by column",
    seen: &[],
    about: "A program fills a matrix with 4-byte stores, cached (normal) or non-temporal, along \
            the rows or along the columns. By row, memory limits both kinds of stores, and \
            non-temporal stores save the read for ownership. By column, successive stores go to \
            different lines. For the paper's matrix a column has 3,000 lines, 192 KiB, which stay \
            in L2, so that 15 of 16 normal stores find their line there. A non-temporal store by \
            column is a partial write of four bytes each time.",
    plot: Some(Plot::bars(
        Axis::bytes("size of the matrix"),
        Axis::log("time"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let mut cases = Vec::new();
        for side in sides(machine) {
            for (series, sweep, temporal) in SWEEPS {
                let setup = MatrixSetup {
                    rows: side,
                    row_bytes: side * 4,
                    sweep,
                    width: 4,
                    temporal,
                };
                cases.push(Case::new(series, bytes_of(side), setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::STORES,
    claims: &[
        // 0.048 s for either by row: just as fast.
        measured(
            "E4.1",
            drepper("6.1, Table 6.1"),
            "by row, non-temporal stores to a matrix are no slower than normal stores (10 % \
             allowed)",
            |e| each_matrix(e, 2, 0, |what, slower| at_most(what, slower, 1.1)),
        )
        .then(1.0, "IA-32, not named")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "Non-temporal over normal stores, by row",
                "Non-temporal stores take {now} the time of normal stores to fill a matrix by row",
            )
            .advice(
                "Use non-temporal stores for full lines that the program will not read soon.",
                "Use normal stores; the only gain of non-temporal stores is that they leave the \
                 caches alone.",
            ),
        ),
        // 0.127 s by column and 0.048 by row.
        measured(
            "E4.2",
            drepper("6.1, Table 6.1"),
            "normal stores to a matrix are slower by column than by row",
            |e| each_matrix(e, 1, 0, |what, slower| at_least(what, slower, 1.0)),
        )
        .then(0.127 / 0.048, "IA-32, not named"),
        // 0.160 s and 0.127: 25 % worse than the cached run.
        measured(
            "E4.3",
            drepper("6.1, Table 6.1"),
            "by column, non-temporal stores to a matrix are slower than normal stores",
            |e| each_matrix(e, 3, 1, |what, slower| at_least(what, slower, 1.0)),
        )
        .then(0.160 / 0.127, "IA-32, not named"),
        // 0.160 s and 0.048. A factor of 2 is our threshold.
        measured(
            "E4.4",
            drepper("6.1, Table 6.1"),
            "non-temporal stores to a matrix take more than 2 times as long by column as by row",
            |e| each_matrix(e, 3, 2, |what, slower| at_least(what, slower, 2.0)),
        )
        .then(0.160 / 0.048, "IA-32, not named")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "Non-temporal stores by column over by row",
                "Non-temporal stores take {now} as long by column as by row",
            )
            .advice(
                "Use non-temporal stores only for full lines in sequential order.",
                "Partial lines cost less than expected, but full lines in sequential order remain \
                 the safe use of non-temporal stores.",
            ),
        ),
    ],
};

/// The sides of the matrices: the paper's, and one well beyond the last-level cache. The second is
/// no power of two, so that its columns do not all fall into a few sets.
fn sides(machine: &Machine) -> [usize; 2] {
    let wanted = (machine.in_memory() / 4).isqrt();
    [PAPER, (wanted / 1000 * 1000).max(PAPER + 1000)]
}

fn bytes_of(side: usize) -> f64 {
    (side * side * 4) as f64
}

/// Judges the ratio of two of the [`SWEEPS`] for both matrices.
fn each_matrix(
    e: &Evidence<'_>,
    of: usize,
    to: usize,
    judge: fn(&str, Interval) -> Judged,
) -> Judged {
    let mut parts = Vec::new();
    for side in sides(e.machine) {
        let (of, to) = (SWEEPS[of].0, SWEEPS[to].0);
        let slower = ratio(e.at(of, bytes_of(side)), e.at(to, bytes_of(side)))?;
        parts.push(judge(&format!("{of} over {to}, {side} x {side}"), slower));
    }
    all_of(parts)
}

/// A matrix, and stores of one width that sweep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixSetup {
    /// Rows.
    pub rows: usize,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Direction of the inner loop.
    pub sweep: Sweep,
    /// Bytes of a store: 4, 8, 16, 32 or 64.
    pub width: usize,
    /// Through the cache or past it.
    pub temporal: Temporal,
}

impl Setup for MatrixSetup {
    fn bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let width = Width::of(self.width, context.features)
            .ok_or_else(|| Untestable(format!("this CPU has no stores of {} bytes", self.width)))?;
        let matrix = Matrix::new(region, self.rows, self.row_bytes)?;
        let store = Store::new(matrix, self.sweep, width, self.temporal)?;
        let period = store.pass();
        Ok(Workload::steady(store, period))
    }

    /// By row alone: by column, lines leave and come back in parts.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.sweep == Sweep::Row).then_some(())?;
        let none = Flow {
            width: Some(self.width),
            ..Flow::default()
        };
        let flow = match self.temporal {
            Temporal::Cached => Flow {
                stored: self.width,
                ..none
            },
            Temporal::NonTemporal => Flow {
                bypassing: self.width,
                ..none
            },
        };
        Some(moved(parameters, self.bytes(), flow, &ROWS)?.at_least(1.0))
    }
}

static ROWS: Model = Model {
    name: "one store per cycle, or lines at the rate of a stream",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "stores that write only a part of a line",
};

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
    /// `movntq` of 8 bytes, from an MMX register (`_mm_stream_pi`).
    Pi,
    /// `movntsd` of 8 bytes (`_mm_stream_sd`).
    Sd,
    /// `movntss` of 4 bytes (`_mm_stream_ss`).
    Ss,
    /// `vmovntdq` of 32 bytes (`_mm256_stream_si256`).
    Si256,
    /// `vmovntdq` of 64 bytes (`_mm512_stream_si512`).
    Si512,
}

impl Streamed {
    /// All of them.
    pub const ALL: [Streamed; 10] = [
        Streamed::Si32,
        Streamed::Si64,
        Streamed::Si128,
        Streamed::Ps,
        Streamed::Pd,
        Streamed::Pi,
        Streamed::Sd,
        Streamed::Ss,
        Streamed::Si256,
        Streamed::Si512,
    ];

    /// Whether every x86-64 CPU has it.
    const fn everywhere(self) -> bool {
        !matches!(
            self,
            Streamed::Sd | Streamed::Ss | Streamed::Si256 | Streamed::Si512
        )
    }

    /// The intrinsic's name.
    pub const fn name(self) -> &'static str {
        match self {
            Streamed::Si32 => "_mm_stream_si32",
            Streamed::Si64 => "_mm_stream_si64",
            Streamed::Si128 => "_mm_stream_si128",
            Streamed::Ps => "_mm_stream_ps",
            Streamed::Pd => "_mm_stream_pd",
            Streamed::Pi => "_mm_stream_pi",
            Streamed::Sd => "_mm_stream_sd",
            Streamed::Ss => "_mm_stream_ss",
            Streamed::Si256 => "_mm256_stream_si256",
            Streamed::Si512 => "_mm512_stream_si512",
        }
    }

    /// Bytes of the store.
    pub const fn bytes(self) -> usize {
        match self {
            Streamed::Si32 | Streamed::Ss => 4,
            Streamed::Si64 | Streamed::Pi | Streamed::Sd => 8,
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
    ) -> Result<Workload<'m>, Untestable> {
        arrived(region, self.store, context.features).map(|bytes| Workload::Count(bytes as f64))
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
                Streamed::Pi => movntq(to.cast(), from.cast::<u64>().read_unaligned()),
                Streamed::Sd => movntsd(
                    features.sse4a().ok_or_else(|| lacking("SSE4a"))?,
                    to.cast(),
                    _mm_load_sd(from.cast()),
                ),
                Streamed::Ss => movntss(
                    features.sse4a().ok_or_else(|| lacking("SSE4a"))?,
                    to.cast(),
                    _mm_load_ss(from.cast()),
                ),
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
