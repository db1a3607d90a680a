//! A stretch of code whose length in core cycles is known.
//!
//! The core clock moves (turbo, power saving) while the time-stamp counter does not, and without
//! performance counters nothing reports it. A chain of dependent `imul` does: each waits three
//! cycles for the one before it (Intel since Nehalem, AMD Zen 1 to 5; Agner Fog's instruction
//! tables, uops.info), and no renamer can fold a multiplication away, as Golden Cove does with
//! additions of immediates.

// A chain whose instructions must be exactly these.
#![allow(unsafe_code)]

use core::arch::asm;

use super::{start, stop};

/// Core cycles that [`ticks`] covers.
pub const CYCLES: u64 = 3 * CHAIN;

/// Dependent multiplications in the shorter chain; the longer has twice as many.
const CHAIN: u64 = BLOCK * 20;

/// Multiplications a loop iteration. The loop's own two instructions run beside them.
const BLOCK: u64 = 50;

/// Ticks that [`CYCLES`] core cycles take right now.
///
/// Times one chain and one of twice the length; the difference has no start, stop or loop entry
/// in it. Takes about three times [`CYCLES`]. The result is 0 only if the difference was
/// swallowed by an interruption of the shorter chain: callers take a median over several.
pub fn ticks() -> u64 {
    let short = timed(CHAIN);
    let long = timed(2 * CHAIN);
    long.saturating_sub(short)
}

#[inline(never)]
fn timed(multiplications: u64) -> u64 {
    let begin = start();
    chain(multiplications);
    stop() - begin
}

/// That many dependent multiplications, a multiple of [`BLOCK`].
#[inline(always)]
pub(super) fn chain(multiplications: u64) {
    let blocks = multiplications / BLOCK;
    // SAFETY: multiplies a register by itself `BLOCK` times a loop iteration; touches nothing else.
    unsafe {
        asm!(
            "2:",
            ".rept 50",
            "imul {value}, {value}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            value = inout(reg) 3_u64 => _,
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
}
