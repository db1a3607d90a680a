//! The crate's only clock: fenced TSC ticks, their rate, and the core-cycle yardstick.
//!
//! Three units are kept apart everywhere: *ticks* of the time-stamp counter, which runs at a constant
//! rate; *nanoseconds*, which are ticks divided by that rate; and *core cycles*, which follow the core's
//! real clock and come from the [`yardstick`].

// Reads the time-stamp counter between fences, which only assembly can order.
#![allow(unsafe_code)]

mod fence;
mod share;
pub mod yardstick;

pub use fence::{FenceWaits, make_lfence_wait};
pub use share::SmtContention;

use core::arch::asm;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::cpu::Features;

/// The instruction by which [`stop`] reads the counter: [`UNKNOWN`], [`RDTSCP`] or [`RDTSC`].
static END: AtomicU8 = AtomicU8::new(UNKNOWN);
/// CPUID has not been asked yet.
const UNKNOWN: u8 = 0;
/// The CPU has `rdtscp`.
const RDTSCP: u8 = 1;
/// The CPU lacks `rdtscp`.
const RDTSC: u8 = 2;

/// Executes `lfence; rdtsc; lfence` and returns the tick at which everything before has completed and
/// nothing after has begun.
///
/// The first fence waits for older instructions; the second keeps younger ones from starting before the
/// counter is read (Intel SDM volume 2B, RDTSC; AMD APM volume 3, RDTSC). On AMD a fence waits only if bit 1
/// of the register DE_CFG is set, as Linux sets it. Without an operating system, [`make_lfence_wait`] sets it;
/// otherwise older work may reach into a single run, and the difference of N and 2 N operations cancels it.
///
/// The first call asks CPUID whether [`stop`] can use `rdtscp`. Every call loads the cached answer,
/// before the first fence.
#[inline(always)]
#[doc(alias = "rdtsc")]
pub fn start() -> u64 {
    if END.load(Ordering::Relaxed) == UNKNOWN {
        ask();
    }
    fenced()
}

/// Executes `rdtscp; lfence` and returns the tick at which everything before has completed.
///
/// `rdtscp` itself waits for older instructions and for older loads to be globally visible; the fence
/// keeps younger instructions out of the timed stretch (Intel SDM volume 2B, RDTSCP). Stores may still
/// be in the store buffer.
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
    // SAFETY: as in `fenced`; CPUID has reported `rdtscp`.
    unsafe {
        asm!(
            "rdtscp", "lfence",
            out("eax") low, out("edx") high, out("ecx") _,
            options(nostack),
        );
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Asks CPUID, which takes microseconds in a virtual machine and must stay out of timed stretches.
#[cold]
#[inline(never)]
fn ask() {
    let end = match Features::detect().rdtscp() {
        Some(_) => RDTSCP,
        None => RDTSC,
    };
    END.store(end, Ordering::Relaxed);
}

/// Executes `lfence; rdtsc; lfence`.
#[inline(always)]
fn fenced() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter. User mode may do so unless CR4.TSD is set, which Linux leaves clear. The
    // block counts as accessing memory, so the compiler moves no access across it.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// The constant rate of the time-stamp counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    hz: f64,
}

/// Why two clock readings give no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RateError {
    /// The counter did not advance in this many nanoseconds.
    NoTicks {
        /// Nanoseconds between the two readings.
        nanos: u64,
    },
    /// The reference clock did not advance over this many ticks.
    NoTime {
        /// Ticks between the two readings.
        ticks: u64,
    },
}

messages! { RateError:
    RateError::NoTicks { nanos } => ("the time-stamp counter did not advance in {nanos} ns");
    RateError::NoTime { ticks } => ("the reference clock did not advance in {ticks} ticks");
}

impl Rate {
    /// Returns the rate of a counter that advances `hz` times per second.
    pub const fn from_hz(hz: f64) -> Self {
        Rate { hz }
    }

    /// Returns the rate of a counter that advanced by `ticks` while a reference clock advanced by
    /// `nanos`.
    ///
    /// The rate is measured against a monotonic raw clock because CPUID leaves 15h and 16h may be zero,
    /// above all in virtual machines. Over 200 ms or more, the reading error is negligible.
    ///
    /// # Errors
    /// If either clock did not advance.
    pub fn between(ticks: u64, nanos: u64) -> Result<Self, RateError> {
        match (ticks, nanos) {
            (0, _) => Err(RateError::NoTicks { nanos }),
            (_, 0) => Err(RateError::NoTime { ticks }),
            _ => Ok(Rate { hz: ticks as f64 * 1e9 / nanos as f64 }),
        }
    }

    /// Returns the ticks per second.
    pub const fn hz(self) -> f64 {
        self.hz
    }

    /// Returns the nanoseconds that `ticks` take.
    pub fn nanos(self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hz
    }

    /// Returns the ticks in `nanos` nanoseconds, rounded down.
    pub fn ticks(self, nanos: f64) -> u64 {
        (nanos * self.hz / 1e9) as u64
    }
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
        // `stop` must work when CPUID has not been asked before.
        END.store(UNKNOWN, Ordering::Relaxed);
        let third = stop();
        let has = Features::detect().rdtscp().is_some();
        assert_eq!(END.load(Ordering::Relaxed) == RDTSCP, has);
        assert!(first < second && second < third);
    }

    #[test]
    fn ticks_and_nanoseconds_convert_both_ways() {
        let rate = Rate::between(460_000_000, 200_000_000).unwrap();
        assert_eq!(rate.hz(), 2.3e9);
        assert_eq!(rate.nanos(23.0), 10.0);
        assert_eq!(rate.ticks(10.0), 23);
    }

    #[test]
    fn a_clock_that_stands_still_gives_no_rate() {
        assert_eq!(Rate::between(0, 7), Err(RateError::NoTicks { nanos: 7 }));
        assert_eq!(Rate::between(7, 0), Err(RateError::NoTime { ticks: 7 }));
    }
}
