//! x86-64 memory-hierarchy kernels, and the few parts that measuring them needs.
//!
//! Without features the crate has no std, no allocator, and only `raw-cpuid` beneath it: it
//! embeds in a kernel, a hypervisor, a boot image or another benchmark. The features add, in
//! this order, what the host can give: `alloc`, `std` (Linux: pages, affinity, experiments) and
//! `lab` (the program that re-measures the classic claims about memory). `ring0` is for those who
//! have no host: counters programmed through the CPU's own registers.
//!
//! The rooms, each of which uses only those to its right:
//!
//! ```text
//! lab -> experiment -> { counters, record } -> { os, infer, sim, model, measure }
//!     -> { kernel, pmu, pattern, stats } -> { cpu, time, mem }
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(target_arch = "x86_64"))]
compile_error!("linefill measures x86-64: build it for an x86_64 target");
#[cfg(all(feature = "std", not(target_os = "linux")))]
compile_error!(
    "linefill's features `std`, `criterion`, `peers` and `lab` need Linux; without them it builds \
     for any x86_64 target, such as x86_64-unknown-none"
);

#[cfg(feature = "alloc")]
extern crate alloc;
// `criterion` names the crate as the benches do, which include its files.
#[cfg(feature = "criterion")]
extern crate self as linefill;

#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod counters;
#[cfg(target_arch = "x86_64")]
pub mod cpu;
#[cfg(all(feature = "criterion", target_arch = "x86_64", target_os = "linux"))]
pub mod criterion;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod experiment;
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
pub mod infer;
#[cfg(target_arch = "x86_64")]
pub mod kernel;
#[cfg(all(feature = "lab", target_arch = "x86_64", target_os = "linux"))]
pub mod lab;
#[cfg(target_arch = "x86_64")]
pub mod measure;
#[cfg(target_arch = "x86_64")]
pub mod mem;
#[cfg(target_arch = "x86_64")]
pub mod model;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub mod os;
#[cfg(target_arch = "x86_64")]
pub mod pattern;
#[cfg(target_arch = "x86_64")]
pub mod pmu;
#[cfg(target_arch = "x86_64")]
pub mod record;
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
pub mod sim;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod spelling;
#[cfg(target_arch = "x86_64")]
pub mod stats;
#[cfg(target_arch = "x86_64")]
pub mod time;

/// The README's code, compiled and run as a test.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
mod readme {}
