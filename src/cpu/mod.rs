//! One instruction a function, and what CPUID says about this CPU.
//!
//! - Instructions: [`rdtsc`], [`rdtscp`], [`lfence`], [`sfence`], [`mfence`], [`clflush`],
//!   [`clflushopt`], [`clwb`], [`cldemote`], the prefetches ([`prefetch()`], [`Hint`]), the non-temporal stores and
//!   loads ([`stream`]) and [`rdpmc`]. Each is exactly one instruction, inlined into its caller in
//!   every build profile (`tests/instructions.rs` disassembles them).
//! - Capabilities: [`Features::detect`] hands out zero-sized tokens such as [`Avx512`]. An
//!   instruction that not every x86-64 CPU has takes its token, so it cannot fault as undefined.
//! - Description: [`Identity`], [`Caches`], [`Tlbs`] and [`tsc_hz`], each by `detect` from the CPU
//!   that executes and by `read` from any [`raw_cpuid::CpuIdReader`], such as a recorded dump.

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
mod split;
pub mod stream;
pub mod tlb;
pub mod token;
pub mod tsc;

pub use cache::{Cache, CacheKind, Caches};
pub use cores::{Core, EventTable, Fact, Ports, PrefetchSwitches, Source, Translations};
pub use counter::rdpmc;
pub use features::{Feature, Features, UnknownFeature};
pub use fence::{lfence, mfence, sfence};
pub use flush::{cldemote, clflush, clflushopt, clwb};
pub use frequency::{read_tsc_hz, tsc_hz};
pub use identity::{CoreType, Identity, Vendor};
pub use list::{List, Text};
pub use prefetch::{Hint, prefetch, prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
pub use split::SplitLocks;
pub use stream::{
    movntdq, movntdqa, movnti32, movnti64, movntpd, movntps, vmovntdq256, vmovntdq512,
    vmovntdqa256, vmovntdqa512,
};
pub use tlb::{PageSize, PageSizes, Tlb, TlbKind, Tlbs};
pub use token::{Avx2, Avx512, Cldemote, Clflushopt, Clwb, Fma, Sse41};
pub use tsc::{rdtsc, rdtscp};
