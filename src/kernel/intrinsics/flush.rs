//! `asm/stores/flush.S` and `asm/stores/rewrite.S` with the functions of [`cpu`]; of the three instructions
//! that write lines back, only `clflush` has an intrinsic in `core`.

// Flushes lines and stores to addresses that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::{self, Clflushopt, Clwb, movnti64};
use crate::kernel::intrinsics::one_at_a_time;
use crate::mem::LINE;

/// Does `$work` and `$next` this many times. The stores are volatile, as only the last value remains.
macro_rules! repeat {
    ($times:ident, $work:expr, $next:expr) => {
        for _ in 0..$times {
            // SAFETY: the caller vouches for the line or the word.
            unsafe { $work };
            $next;
            one_at_a_time();
        }
    };
}

/// Evicts `lines` lines with one `clflush` each; returns the address after the last line. No load, no store.
///
/// # Safety
/// `at` is the address of `lines` lines that are valid for reads.
#[inline(never)]
pub unsafe extern "sysv64" fn clflush(mut at: *const u8, lines: u64) -> usize {
    repeat!(lines, cpu::clflush(at), at = at.wrapping_add(LINE));
    at.addr()
}

/// Like [`clflush`], with `clflushopt`.
///
/// # Safety
/// As for [`clflush`].
#[inline(never)]
pub unsafe fn clflushopt(has: Clflushopt, mut at: *const u8, lines: u64) -> usize {
    repeat!(lines, cpu::clflushopt(has, at), at = at.wrapping_add(LINE));
    at.addr()
}

/// Writes back `lines` lines with one `clwb` each; returns the address after the last line.
///
/// # Safety
/// As for [`clflush`].
#[inline(never)]
pub unsafe fn clwb(has: Clwb, mut at: *const u8, lines: u64) -> usize {
    repeat!(lines, cpu::clwb(has, at), at = at.wrapping_add(LINE));
    at.addr()
}

/// Stores `value`, `value + 1`, ... to the word at `at`, `stores` times; returns the value that would come
/// next. 1 store, 8 bytes per iteration.
///
/// # Safety
/// `at` is a multiple of 8 and valid for a write of 8 bytes.
#[inline(never)]
pub unsafe extern "sysv64" fn back(at: *mut u64, stores: u64, mut value: u64) -> u64 {
    repeat! { stores, at.write_volatile(value), value = value.wrapping_add(1) }
    value
}

/// Like [`back`], with a `clwb` after each store, for which `core` has no intrinsic.
///
/// # Safety
/// As for [`back`].
#[inline(never)]
pub unsafe fn through(has: Clwb, at: *mut u64, stores: u64, mut value: u64) -> u64 {
    repeat! {
        stores,
        { at.write_volatile(value); cpu::clwb(has, at.cast_const().cast()) },
        value = value.wrapping_add(1)
    }
    value
}

/// Like [`back`], with `movnti`.
///
/// # Safety
/// As for [`back`]; `sfence` follows before any code relies on the word.
#[inline(never)]
pub unsafe extern "sysv64" fn stream(at: *mut u64, stores: u64, mut value: u64) -> u64 {
    repeat!(stores, movnti64(at, value), value = value.wrapping_add(1));
    value
}
