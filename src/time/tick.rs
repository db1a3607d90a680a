//! The two ends of a timed stretch.

// Reads the time-stamp counter between fences, which only assembly can order.
#![allow(unsafe_code)]

use core::arch::asm;

/// `lfence; rdtsc; lfence`: the tick at which everything before has completed and nothing after
/// has begun.
///
/// The first fence waits for older instructions; the second keeps younger ones from starting
/// before the counter is read (Intel SDM volume 2B, RDTSC; AMD APM volume 3, RDTSC).
#[inline(always)]
#[doc(alias = "rdtsc")]
pub fn start() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter; user mode may do so unless CR4.TSD is set, which Linux leaves
    // clear. The block counts as touching memory, so the compiler moves no access across it.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// `rdtscp; lfence`: the tick at which everything before has completed.
///
/// `rdtscp` itself waits for older instructions and for older loads to be globally visible; the
/// fence keeps younger ones out of the timed stretch (Intel SDM volume 2B, RDTSCP). Stores may
/// still sit in the store buffer.
#[inline(always)]
#[doc(alias = "rdtscp")]
pub fn stop() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: as for `start`; `rdtscp` exists on every x86-64 CPU since Nehalem and K8 revision F.
    unsafe {
        asm!(
            "rdtscp", "lfence",
            out("eax") low, out("edx") high, out("ecx") _,
            options(nostack),
        );
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
}
