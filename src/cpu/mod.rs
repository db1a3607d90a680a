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
mod combining;
pub mod counter;
mod decoded;
mod descriptor;
pub mod features;
pub mod fence;
pub mod flush;
pub mod frequency;
pub mod identity;
pub mod list;
pub mod microarch;
mod outstanding;
pub mod ports;
pub mod prefetch;
mod published;
mod split;
mod stores;
pub mod stream;
mod switch;
pub mod tlb;
pub mod token;
mod translations;
pub mod tsc;
mod window;

pub use cache::{Cache, CacheKind, Caches};
pub use counter::rdpmc;
pub use features::{Feature, Features, UnknownFeature};
pub use fence::{lfence, mfence, sfence};
pub use flush::{cldemote, clflush, clflushopt, clwb};
pub use frequency::{read_tsc_hz, tsc_hz};
pub use identity::{CoreType, Identity, Vectors, Vendor};
pub use list::{List, Text};
pub use microarch::Core;
pub use ports::Ports;
pub use prefetch::{Hint, prefetch, prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
pub use split::SplitLocks;
pub use stream::{
    movntdq, movntdqa, movnti32, movnti64, movntpd, movntps, vmovntdq256, vmovntdq512,
    vmovntdqa256, vmovntdqa512,
};
pub use switch::PrefetchSwitches;
pub use tlb::{PageSize, PageSizes, Tlb, TlbKind, Tlbs};
pub use token::{Avx2, Avx512, Cldemote, Clflushopt, Clwb, Fma, Rdtscp, Sse41};
pub use translations::Translations;
pub use tsc::{rdtsc, rdtscp};
