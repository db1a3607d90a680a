//! One instruction a function, and what CPUID says about this CPU.
//!
//! - Instructions: [`rdtsc`], [`rdtscp`], [`lfence`], [`sfence`], [`mfence`], [`clflush`],
//!   [`clflushopt`], [`clwb`], [`cldemote`], the prefetches ([`prefetch()`], [`Hint`]), the
//!   non-temporal stores and loads ([`stream`], [`by_address`]) and [`rdpmc`]. Where `core::arch` has
//!   an intrinsic, the function is that intrinsic, and assembly elsewhere. In an optimised build each
//!   is exactly one instruction, inlined into its caller; in a debug build an intrinsic is a call of
//!   a function with that instruction (`tests/instructions.rs` disassembles both).
//! - Soft-float targets (`x86_64-unknown-none`, `-uefi`): the same functions, as assembly, save those
//!   of [`stream`] that take or return a vector. [`by_address`] has them with both operands in memory.
//! - Capabilities: [`Features::detect`] hands out zero-sized tokens such as [`Avx512`]. An
//!   instruction that not every x86-64 CPU has takes its token, so it cannot fault as undefined.
//! - Description: [`Identity`], [`Caches`], [`Tlbs`] and [`tsc_hz`], each by `detect` from the CPU
//!   that executes and by `read` from any [`raw_cpuid::CpuIdReader`], such as a recorded dump.

pub mod by_address;
pub mod cache;
mod cores;
pub mod counter;
mod descriptor;
pub mod features;
pub mod fence;
pub mod flush;
pub mod frequency;
pub mod identity;
pub mod list;
pub mod prefetch;
#[cfg(any(test, not(target_feature = "sse2")))]
mod softfloat;
mod split;
pub mod stream;
pub mod tlb;
pub mod token;
pub mod tsc;

pub use by_address::{
    movntdq_from, movntdqa_to, movntpd_from, movntps_from, vmovntdq256_from, vmovntdq512_from,
    vmovntdqa256_to, vmovntdqa512_to,
};
pub use cache::{Cache, CacheKind, Caches};
pub use cores::{Core, EventTable, Fact, Ports, PrefetchSwitches, Source, Translations};
pub use counter::rdpmc;
pub use features::{Feature, Features, UnknownFeature};
pub use fence::{lfence, mfence, sfence};
pub use flush::{cldemote, clflush, clflushopt, clwb};
pub use frequency::{read_tsc_hz, tsc_hz};
pub use identity::{CoreType, Identity, Vectors, Vendor};
pub use list::{List, Text};
pub use prefetch::{Hint, prefetch, prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
pub use split::SplitLocks;
#[cfg(target_feature = "sse2")]
pub use stream::{
    movntdq, movntdqa, movntpd, movntps, vmovntdq256, vmovntdq512, vmovntdqa256, vmovntdqa512,
};
pub use stream::{movnti32, movnti64};
pub use tlb::{PageSize, PageSizes, Tlb, TlbKind, Tlbs};
pub use token::{Avx2, Avx512, Cldemote, Clflushopt, Clwb, Fma, Rdtscp, Sse41};
pub use tsc::{rdtsc, rdtscp};
