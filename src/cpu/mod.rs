//! One function per memory instruction, and a description of this CPU from CPUID.
//!
//! - Instructions: [`rdtsc`], [`rdtscp`], [`lfence`], [`sfence`], [`mfence`], [`clflush`],
//!   [`clflushopt`], [`clwb`], [`cldemote`], the prefetches ([`prefetch()`], [`Hint`]), the
//!   non-temporal stores and loads ([`movnti64`] and others, [`by_address`]) and [`rdpmc`]. Each is the
//!   intrinsic of `core::arch` if there is one, and assembly otherwise. In an optimised build each
//!   is exactly one instruction, inlined into its caller; in a debug build an intrinsic is a call of
//!   a function with that instruction (`tests/kernels/instructions.rs` disassembles both).
//! - Soft-float targets (`x86_64-unknown-none`, `-uefi`): the same functions, as assembly. Functions
//!   that take or return a vector are missing there; [`by_address`] has their instructions with
//!   both operands in memory.
//! - Capabilities: [`Features::detect`] provides zero-sized tokens such as [`Avx512`]. An
//!   instruction that not every x86-64 CPU has takes its token, so it cannot fault as undefined.
//! - Description: [`Identity`], [`Caches`], [`Tlbs`] and [`tsc_hz`]: from the CPU that executes the
//!   call, or from any [`raw_cpuid::CpuIdReader`], such as a recorded dump.

pub mod by_address;
mod cache;
mod cores;
mod descriptor;
mod features;
mod flush;
mod identity;
mod list;
mod prefetch;
#[cfg(any(test, not(target_feature = "sse2")))]
mod softfloat;
mod stream;
mod tlb;
mod token;
mod tsc;

pub use cache::{Cache, CacheKind, Caches};
pub use cores::{Core, Fact, Ports, Source, Translations};
#[doc(hidden)]
pub use cores::{EventTable, PrefetchSwitches};
pub use features::{Feature, Features, UnknownFeature};
#[cfg(hosted)]
pub(crate) use flush::flush_bytes;
pub use flush::{cldemote, clflush, clflushopt, clwb, lfence, mfence, sfence};
pub use identity::{CoreType, Identity, Vectors, Vendor};
pub use list::{List, Text};
pub use prefetch::{Hint, prefetch, prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
/// What `read` functions take: CPUID as another CPU or a hypervisor answers it.
pub use raw_cpuid::{CpuIdReader, CpuIdResult};
#[cfg(target_feature = "sse2")]
pub use stream::{
    movntdq, movntdqa, movntpd, movntps, movntq, movntsd, movntss, vmovntdq256, vmovntdq512,
    vmovntdqa256, vmovntdqa512,
};
pub use stream::{movnti32, movnti64};
pub use tlb::{PageSize, PageSizes, Tlb, TlbKind, Tlbs};
pub use token::{Avx2, Avx512, Cldemote, Clflushopt, Clwb, Fma, Rdtscp, SplitLocks, Sse4a, Sse41};
pub use tsc::{rdpmc, rdtsc, rdtscp, read_tsc_hz, tsc_hz};
