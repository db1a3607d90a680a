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
//! lab -> experiment -> counters -> { os, infer, sim, model, measure } -> { kernel, pmu, pattern, stats }
//!     -> { cpu, time, mem }
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
// `criterion` names the crate as the benches do, which include its files.
#[cfg(feature = "criterion")]
extern crate self as linefill;

#[cfg(feature = "std")]
pub mod counters;
pub mod cpu;
#[cfg(feature = "criterion")]
pub mod criterion;
#[cfg(feature = "std")]
pub mod experiment;
#[cfg(feature = "alloc")]
pub mod infer;
pub mod kernel;
#[cfg(feature = "lab")]
pub mod lab;
pub mod measure;
pub mod mem;
pub mod model;
#[cfg(feature = "std")]
pub mod os;
pub mod pattern;
pub mod pmu;
#[cfg(feature = "alloc")]
pub mod sim;
#[cfg(feature = "std")]
mod spelling;
pub mod stats;
pub mod time;

/// The README's code, compiled and run as a test.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
mod readme {}
