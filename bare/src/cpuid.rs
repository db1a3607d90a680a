//! The instruction CPUID.

use core::arch::x86_64::{__cpuid_count, CpuidResult};

/// Executes CPUID for a leaf and a subleaf.
// The function is safe since a later Rust than the manifest promises.
#[allow(unused_unsafe)]
pub fn cpuid(leaf: u32, subleaf: u32) -> CpuidResult {
    // SAFETY: every 64-bit CPU has the instruction.
    unsafe { __cpuid_count(leaf, subleaf) }
}
