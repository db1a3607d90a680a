//! x86-64 memory-hierarchy kernels, and the few parts needed to measure them.
//!
//! Time your own code in core cycles and nanoseconds, with the uncertainty (feature `std`); see the
//! module `bench`:
//!
//! ```
//! # #[cfg(feature = "std")] {
//! let mut bench = linefill::bench::Bench::new().expect("the clocks run");
//! let mut x = 3_u64;
//! let division = bench.steady_fn(|n| {
//!     for _ in 0..n {
//!         x = u64::MAX / (x | 1);
//!     }
//!     x
//! });
//! println!("{division}");
//! # }
//! ```
//!
//! Time a kernel without an operating system, in memory that you lend: a random walk through 16 KiB.
//!
//! ```
//! use linefill::kernel::{Step, Walk};
//! use linefill::measure::{Buffers, NoMonitor, Plan, Sample, steady};
//! use linefill::mem::Region;
//! use linefill::pattern::{Layout, Order, Ring};
//!
//! let mut memory = [0u8; 256 * 64 + 64];
//! let region = Region::new(&mut memory).unwrap();
//! let ring = Ring::new(region, Layout::npad(7), 256, Order::Random { seed: 1 }).unwrap();
//! let mut walk = Walk::new(ring, Step::Follow).unwrap();
//!
//! let (mut samples, mut scratch) = ([Sample::default(); 100], [0.0; 100]);
//! let buffers = Buffers { samples: &mut samples, scratch: &mut scratch };
//! let plan = Plan::of_ticks(50_000, 25_000_000).warm_up(256);
//! let outcome = steady(&mut walk, &plan, &mut NoMonitor, buffers).expect("room for samples");
//! println!("{:.2} ticks", outcome.ticks.median);
//! if let Some(cycles) = outcome.core_cycles() {
//!     println!("{:.2} core cycles", cycles.median);
//! }
//! ```
//!
//! Execute single instructions. An instruction that some CPUs lack takes a token from CPUID, and so
//! cannot fault.
//!
//! ```
//! use linefill::cpu::{Features, Identity, clflushopt, mfence, prefetcht0};
//! use linefill::time::{start, stop};
//!
//! println!("{}", Identity::detect().core().map_or("an unlisted core", |core| core.name));
//! let line = 1u64;
//! if let Some(token) = Features::detect().clflushopt() {
//!     // SAFETY: the address is that of a live value.
//!     unsafe { clflushopt(token, (&raw const line).cast()) };
//!     mfence();
//! }
//! let began = start();
//! prefetcht0((&raw const line).cast());
//! println!("{} ticks", stop() - began);
//! ```
//!
//! Count the events of a piece of code, if the machine can (feature `std`). Prints one line per event,
//! or the reason why it is not counted here.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! let (sum, counts) = linefill::counters::scope(|| (1..=1000u64).sum::<u64>());
//! println!("{sum}\n{counts}");
//! # }
//! ```
//!
//! Without features the crate has no std, no allocator, and only `raw-cpuid` as a dependency. It can be
//! embedded in a kernel, a hypervisor, a boot image or another benchmark.
//!
//! The feature `alloc` adds the simulator, `std` timing of your own code, events, pages and affinity on Linux.
//! The README lists all features, with what each needs.
//!
//! The README shows every command, and how to embed a kernel on Linux. `docs/EMBED.md` shows how to
//! embed it elsewhere.
//!
//! The modules in layers, each of which uses its own layer and those to its right (`time::make_lfence_wait`
//! alone takes a port of `pmu`):
//!
//! ```text
//! lab -> recorded -> record -> experiment -> { bench, counters } -> os -> host
//!     -> { infer, sim, model, measure } -> { kernel, pmu, pattern, stats } -> { cpu, time, mem }
//! ```
//!
//! `lab`, `recorded`, `experiment`, `host`, `infer`, `model` and `record` belong to the program. They
//! are hidden here, and no version of the crate promises them.
#![cfg_attr(not(feature = "std"), no_std)]
// Nightly only, as on docs.rs: marks items that need a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(target_arch = "x86_64"))]
compile_error!("linefill measures x86-64: build it for an x86_64 target");
#[cfg(all(feature = "std", not(target_os = "linux")))]
compile_error!(
    "linefill's features `std`, `criterion`, `peers` and `lab` need Linux; without them it builds \
     for any x86_64 target with ELF or COFF objects, such as x86_64-unknown-none"
);
#[cfg(all(target_arch = "x86_64", target_vendor = "apple"))]
compile_error!("linefill's kernels need ELF or COFF objects: Apple's systems have Mach-O");
#[cfg(all(target_arch = "x86_64", not(target_pointer_width = "64")))]
compile_error!("linefill's kernels load pointers of 64 bits: this target (x32) has shorter ones");

// `hosted` is set by build.rs: experiments have a host, which is Linux with `std`, or the embedder's own
// with `experiments` but without `std`.
#[cfg(feature = "alloc")]
#[cfg_attr(hosted, macro_use)]
extern crate alloc;
// The feature `criterion` names the crate as the benches do, because they include its files.
#[cfg(feature = "criterion")]
extern crate self as linefill;

/// Implements `Display` and `Error` for an error type: `pattern => ("message", arguments);` per variant.
/// The message may use the names that the pattern binds.
#[cfg(target_arch = "x86_64")]
macro_rules! messages {
    ($error:ident: $($pattern:pat => ($($message:tt)+);)+) => {
        impl core::fmt::Display for $error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($pattern => write!(f, $($message)+),)+
                }
            }
        }

        impl core::error::Error for $error {}
    };
}

/// Defines an enum whose variants hold nothing, and the list of them, `ALL`. If each variant has a name
/// (`Variant = "name",`), also `name`, which returns it.
#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($(#[$attribute:meta])* pub enum $of:ident { $($(#[$doc:meta])* $variant:ident,)+ }) => {
        $(#[$attribute])*
        pub enum $of {
            $($(#[$doc])* $variant,)+
        }

        impl $of {
            /// All values, in the order of the declaration.
            pub const ALL: [$of; [$($of::$variant),+].len()] = [$($of::$variant),+];
        }
    };
    (
        $(#[$attribute:meta])*
        pub enum $of:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        variants! {
            $(#[$attribute])*
            pub enum $of { $($(#[$doc])* $variant,)+ }
        }

        impl $of {
            /// Returns the name of the value.
            pub const fn name(self) -> &'static str {
                match self {
                    $($of::$variant => $name,)+
                }
            }
        }
    };
}

#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod bench;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod counters;
#[cfg(target_arch = "x86_64")]
pub mod cpu;
#[cfg(all(feature = "criterion", target_arch = "x86_64", target_os = "linux"))]
pub mod criterion;
#[cfg(hosted)]
#[doc(hidden)]
pub mod experiment;
#[cfg(all(feature = "experiments", any(test, not(feature = "std")), target_arch = "x86_64"))]
mod float;
#[cfg(hosted)]
#[doc(hidden)]
pub mod host;
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
#[doc(hidden)]
pub mod infer;
#[cfg(target_arch = "x86_64")]
pub mod kernel;
#[cfg(all(feature = "lab", target_arch = "x86_64", target_os = "linux"))]
#[doc(hidden)]
pub mod lab;
#[cfg(target_arch = "x86_64")]
pub mod measure;
#[cfg(target_arch = "x86_64")]
pub mod mem;
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod model;
#[cfg(hosted)]
mod order;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod os;
#[cfg(target_arch = "x86_64")]
pub mod pattern;
#[cfg(target_arch = "x86_64")]
pub mod pmu;
/// The names that the standard library's prelude has and the core library's prelude lacks.
#[cfg(hosted)]
mod prelude {
    pub(crate) use alloc::borrow::ToOwned;
    pub(crate) use alloc::boxed::Box;
    pub(crate) use alloc::string::{String, ToString};
    pub(crate) use alloc::vec::Vec;

    #[cfg(not(feature = "std"))]
    pub(crate) use crate::float::Float;
}
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod record;
#[cfg(all(hosted, feature = "record"))]
#[doc(hidden)]
pub mod recorded;
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
pub mod sim;
#[cfg(hosted)]
mod spelling;
#[cfg(target_arch = "x86_64")]
pub mod stats;
#[cfg(target_arch = "x86_64")]
pub mod time;
// Only some of its functions serve the tests in here.
#[cfg(all(test, feature = "std", target_arch = "x86_64", target_os = "linux"))]
#[path = "../tests/common/untested.rs"]
#[allow(dead_code)]
mod untested;

/// The series of the ladder, which the experiments and the boot image both measure.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub const LADDER: &str = "random walk, one line per element";

/// Compiles the README's code and runs it as a test.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
mod readme {}
