//! A stretch of code whose length in core cycles is known.
//!
//! The core clock varies (turbo, power saving) while the time-stamp counter's rate does not, and without
//! performance counters nothing reports the core clock. A chain of dependent `imul` of 32 bits measures
//! it: each `imul` waits three cycles for the one before it (Intel since Nehalem and Silvermont, AMD Jaguar
//! and Zen 1 to 5; Agner Fog's instruction tables, uops.info, LLVM's scheduling models), and no renamer can
//! eliminate a multiplication, as Golden Cove does additions of immediates. With 64 bits it would wait five
//! cycles on Silvermont to Tremont and six on Jaguar.

// The instructions of the chain must be exactly these.
#![allow(unsafe_code)]

use core::arch::asm;
use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};

use raw_cpuid::CpuId;

use super::{start, stop};

/// Core cycles whose ticks [`ticks`] returns.
pub const CYCLES: u64 = 3 * CHAIN;

/// The ratios of core cycles to ticks that clocks may have. An emulator that is stopped meanwhile gives others.
pub const RATIOS: RangeInclusive<f64> = 1e-3..=1e3;

/// Dependent multiplications in the shorter chain; the longer chain has twice as many.
const CHAIN: u64 = BLOCK * 20;

/// Multiplications per loop iteration. The two loop instructions run in parallel with them.
const BLOCK: u64 = 50;

/// Returns the ticks that [`CYCLES`] core cycles take now.
///
/// Times a chain and a second one of twice the length; the difference excludes the start, the stop and
/// the loop entry. The call takes about three times [`CYCLES`]. The result is 0 only if an interruption
/// of the shorter chain exceeds the difference, so callers take a median over several results.
pub fn ticks() -> u64 {
    let short = timed(CHAIN);
    let long = timed(2 * CHAIN);
    3 * long.saturating_sub(short) / latency()
}

/// Returns the cycles that a multiplication waits for the one before it: 4 on AMD's family 15h (Bulldozer to
/// Excavator), and 3 on all other cores. CPUID is read once: in a virtual machine it takes a microsecond or more.
fn latency() -> u64 {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let cpuid = CpuId::new();
            let vendor = cpuid.get_vendor_info();
            let cycles = latency_of(
                vendor.as_ref().map_or("", |vendor| vendor.as_str()),
                cpuid.get_feature_info().map_or(0, |of| of.family_id()),
            );
            KNOWN.store(cycles, Ordering::Relaxed);
            cycles
        }
        known => known,
    }
}

fn latency_of(vendor: &str, family: u8) -> u64 {
    match (vendor, family) {
        ("AuthenticAMD", 0x15) => 4,
        _ => 3,
    }
}

#[inline(never)]
fn timed(multiplications: u64) -> u64 {
    let begin = start();
    chain(multiplications);
    stop() - begin
}

/// Executes this many dependent multiplications, a multiple of [`BLOCK`].
#[inline(always)]
pub(super) fn chain(multiplications: u64) {
    let blocks = multiplications / BLOCK;
    // SAFETY: multiplies a register by itself `BLOCK` times per loop iteration; touches nothing else.
    unsafe {
        asm!(
            "2:",
            ".rept 50",
            "imul {value:e}, {value:e}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            value = inout(reg) 3_u32 => _,
            blocks = inout(reg) blocks => _,
            options(nostack, nomem),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yardstick_takes_time() {
        let mut seen = [0; 9];
        seen.fill_with(ticks);
        seen.sort_unstable();
        assert!(seen[4] > 0);
    }

    #[test]
    fn only_bulldozer_and_its_successors_multiply_in_four_cycles() {
        assert_eq!(latency_of("AuthenticAMD", 0x15), 4);
        assert_eq!(latency_of("AuthenticAMD", 0x19), 3);
        assert_eq!(latency_of("GenuineIntel", 0x15), 3);
    }
}
