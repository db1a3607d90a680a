//! `asm/stores/fill.S` with volatile stores and [`movntdq`]; `rep stosb` has no intrinsic.

// Stores to lines that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::movntdq;
use crate::kernel::intrinsics::one_at_a_time;
use crate::mem::LINE;
use core::arch::x86_64::{__m128i, _mm_set1_epi64x};

/// 16-byte stores per line.
const QUARTERS: usize = LINE / 16;

/// Returns a vector with `value` in both halves.
#[inline(always)]
fn both(value: u64) -> __m128i {
    // SAFETY: SSE2 is part of every target that has this module.
    unsafe { _mm_set1_epi64x(value.cast_signed()) }
}

/// Defines functions that store to the given quarters of each line. The quarters' numbers are written
/// out so that no optimisation level has a loop over them.
macro_rules! fills {
    ($(
        $(#[$attribute:meta])*
        $name:ident [$($quarter:literal)*] |$to:ident, $value:ident| $store:expr;
    )*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// `at` is the address of `lines` lines that are valid for writes. Non-temporal stores are
        /// followed by `sfence`.
        #[inline(never)]
        pub unsafe extern "sysv64" fn $name(at: *mut u8, lines: u64, value: u64) -> usize {
            let mut line = at.cast::<__m128i>();
            let $value = both(value);
            for _ in 0..lines {
                $({
                    let $to = line.wrapping_add($quarter);
                    // SAFETY: the caller vouches for the line.
                    unsafe { $store };
                })*
                line = line.wrapping_add(QUARTERS);
                one_at_a_time();
            }
            line.addr()
        }
    )*};
}

fills! {
    /// Writes `lines` lines with four `movdqa` each; returns the address after the last line.
    cached [0 1 2 3] |to, value| to.write_volatile(value);
    /// Writes each line with four `movntdq`.
    stream [0 1 2 3] |to, value| movntdq(to, value);
    /// Writes the first quarter of each line with one `movntdq`.
    quarter [0] |to, value| movntdq(to, value);
    /// Writes the first half of each line with two `movntdq`.
    half [0 1] |to, value| movntdq(to, value);
    /// Writes the first three quarters of each line with three `movntdq`.
    three_quarters [0 1 2] |to, value| movntdq(to, value);
}

/// Writes `groups` groups of `lines` lines with `movntdq`: the first quarter of each line of a group, then
/// the second quarter of each, and so on. Returns the address after the last line. 1 store, 16 bytes
/// per iteration of the inner loop.
///
/// # Safety
/// `at` is the address of `groups * lines` lines that are valid for writes; `sfence` follows.
#[inline(never)]
pub unsafe extern "sysv64" fn interleaved(
    at: *mut u8,
    groups: u64,
    value: u64,
    lines: u64,
) -> usize {
    let mut group = at.cast::<__m128i>();
    let value = both(value);
    for _ in 0..groups {
        for quarter in 0..QUARTERS {
            let mut to = group.wrapping_add(quarter);
            for _ in 0..lines {
                // SAFETY: the caller vouches for the lines.
                unsafe { movntdq(to, value) };
                to = to.wrapping_add(QUARTERS);
                one_at_a_time();
            }
        }
        group = group.wrapping_add(QUARTERS * lines as usize);
    }
    group.addr()
}
