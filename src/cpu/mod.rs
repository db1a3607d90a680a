//! One instruction a function, and what CPUID says about this CPU.
//!
//! - Instructions: [`rdtsc`], [`rdtscp`], [`lfence`], [`sfence`], [`mfence`], [`clflush`],
//!   [`clflushopt`], [`clwb`], the prefetches ([`prefetch`], [`Hint`]), the non-temporal stores and
//!   loads ([`stream`]) and [`rdpmc`]. Each is exactly one instruction, inlined into its caller in
//!   every build profile (`tests/instructions.rs` disassembles them).
//! - Capabilities: [`Features::detect`] hands out zero-sized tokens such as [`Avx512`]. An
//!   instruction that not every x86-64 CPU has takes its token, so it cannot fault as undefined.

pub mod counter;
pub mod features;
pub mod fence;
pub mod flush;
pub mod prefetch;
pub mod stream;
pub mod token;
pub mod tsc;

pub use counter::rdpmc;
pub use features::{Feature, Features, UnknownFeature};
pub use fence::{lfence, mfence, sfence};
pub use flush::{clflush, clflushopt, clwb};
pub use prefetch::{Hint, prefetch, prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
pub use stream::{
    movntdq, movntdqa, movnti32, movnti64, movntpd, movntps, vmovntdq256, vmovntdq512,
    vmovntdqa256, vmovntdqa512,
};
pub use token::{Avx2, Avx512, Clflushopt, Clwb, Sse41};
pub use tsc::{rdtsc, rdtscp};
