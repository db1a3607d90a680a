//! The two ends of a timed stretch.

// Reads the time-stamp counter between fences, which only assembly can order.
#![allow(unsafe_code)]

use core::arch::asm;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::cpu::Features;

/// How [`stop`] reads the counter: [`UNKNOWN`], [`RDTSCP`] or [`RDTSC`].
static END: AtomicU8 = AtomicU8::new(UNKNOWN);
/// CPUID has not been asked yet.
const UNKNOWN: u8 = 0;
/// The CPU has `rdtscp`.
const RDTSCP: u8 = 1;
/// The CPU has none.
const RDTSC: u8 = 2;

/// `lfence; rdtsc; lfence`: the tick at which everything before has completed and nothing after
/// has begun.
///
/// The first fence waits for older instructions; the second keeps younger ones from starting
/// before the counter is read (Intel SDM volume 2B, RDTSC; AMD APM volume 3, RDTSC).
///
/// The first call asks CPUID whether [`stop`] can use `rdtscp`; every call reads the answer, ahead
/// of the first fence.
#[inline(always)]
#[doc(alias = "rdtsc")]
pub fn start() -> u64 {
    if END.load(Ordering::Relaxed) == UNKNOWN {
        ask();
    }
    fenced()
}

/// `rdtscp; lfence`: the tick at which everything before has completed.
///
/// `rdtscp` itself waits for older instructions and for older loads to be globally visible; the
/// fence keeps younger ones out of the timed stretch (Intel SDM volume 2B, RDTSCP). Stores may
/// still sit in the store buffer.
///
/// A CPU without `rdtscp` (Intel before Nehalem, AMD's first Opterons, some virtual CPUs) executes
/// `lfence; rdtsc; lfence` instead, which waits for the same.
#[inline(always)]
#[doc(alias = "rdtscp")]
pub fn stop() -> u64 {
    if END.load(Ordering::Relaxed) != RDTSCP {
        return start();
    }
    let (low, high): (u32, u32);
    // SAFETY: as for `fenced`; CPUID has said that there is `rdtscp`.
    unsafe {
        asm!(
            "rdtscp", "lfence",
            out("eax") low, out("edx") high, out("ecx") _,
            options(nostack),
        );
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Asks CPUID, which takes microseconds in a virtual machine: not within a timed stretch.
#[cold]
#[inline(never)]
fn ask() {
    let end = match Features::detect().rdtscp() {
        Some(_) => RDTSCP,
        None => RDTSC,
    };
    END.store(end, Ordering::Relaxed);
}

/// `lfence; rdtsc; lfence`.
#[inline(always)]
fn fenced() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter; user mode may do so unless CR4.TSD is set, which Linux leaves
    // clear. The block counts as touching memory, so the compiler moves no access across it.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward() {
        let first = start();
        let second = stop();
        assert!(second > first);
    }

    #[test]
    fn a_stretch_ends_by_rdtsc_where_there_is_no_rdtscp() {
        let first = start();
        END.store(RDTSC, Ordering::Relaxed);
        let second = stop();
        // A stop that nothing was asked before.
        END.store(UNKNOWN, Ordering::Relaxed);
        let third = stop();
        let has = Features::detect().rdtscp().is_some();
        assert_eq!(END.load(Ordering::Relaxed) == RDTSCP, has);
        assert!(first < second && second < third);
    }
}
