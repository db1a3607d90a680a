//! A bootable program: linefill's kernels in ring 0, without an operating system.
//!
//! There are two ways to boot it, each a platform. A PVH or Multiboot2 loader starts [`loader`] (target
//! `x86_64-unknown-none`), which uses only the CPU, and prints on the serial port. UEFI firmware starts
//! [`firmware`] (target `x86_64-unknown-uefi`), which prints on the screen and writes a file. Both give
//! [`measure::everything`] memory and a [`console::Output`].
#![no_std]
#![no_main]
#![warn(missing_docs)]

#[cfg(not(any(target_os = "none", target_os = "uefi")))]
compile_error!(
    "the image is for x86_64-unknown-none or x86_64-unknown-uefi: build it in `bare`, by \
     `bare/run` or by `bare/stick`"
);

#[cfg(feature = "experiments")]
extern crate alloc;

mod console;
mod counters;
mod cpuid;
mod exception;
mod instructions;
mod measure;
mod options;
mod pages;
mod record;
mod walk;

#[cfg(feature = "experiments")]
mod heap;
#[cfg(feature = "experiments")]
mod host;
#[cfg(feature = "experiments")]
mod run;
#[cfg(feature = "experiments")]
mod selection;

#[cfg(target_os = "uefi")]
mod firmware;
#[cfg(target_os = "none")]
mod loader;
