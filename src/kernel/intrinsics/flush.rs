//! `asm/flush.S` by the functions of [`cpu`]; of the three instructions only `clflush` has an
//! intrinsic in `core`.

// Flushes lines that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::{self, Clflushopt, Clwb};
use crate::kernel::intrinsics::one_at_a_time;
use crate::mem::LINE;

/// Evicts `lines` lines by one `clflush` each; returns the address behind them. No load, no store.
///
/// # Safety
/// `at` is the address of `lines` lines that are valid for reads.
#[inline(never)]
pub unsafe extern "sysv64" fn clflush(mut at: *const u8, lines: u64) -> usize {
    for _ in 0..lines {
        // SAFETY: the caller vouches for the line.
        unsafe { cpu::clflush(at) };
        at = at.wrapping_add(LINE);
        one_at_a_time();
    }
    at.addr()
}

/// The same by `clflushopt`.
///
/// # Safety
/// As for [`clflush`].
#[inline(never)]
pub unsafe fn clflushopt(has: Clflushopt, mut at: *const u8, lines: u64) -> usize {
    for _ in 0..lines {
        // SAFETY: the caller vouches for the line.
        unsafe { cpu::clflushopt(has, at) };
        at = at.wrapping_add(LINE);
        one_at_a_time();
    }
    at.addr()
}

/// Writes `lines` lines back by one `clwb` each; returns the address behind them.
///
/// # Safety
/// As for [`clflush`].
#[inline(never)]
pub unsafe fn clwb(has: Clwb, mut at: *const u8, lines: u64) -> usize {
    for _ in 0..lines {
        // SAFETY: the caller vouches for the line.
        unsafe { cpu::clwb(has, at) };
        at = at.wrapping_add(LINE);
        one_at_a_time();
    }
    at.addr()
}
