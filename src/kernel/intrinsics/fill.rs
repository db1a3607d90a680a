//! `asm/fill.S` by volatile stores and by [`movntdq`]; `rep stosb` has no intrinsic.

// Stores to lines that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::movntdq;
use crate::kernel::intrinsics::one_at_a_time;
use crate::mem::LINE;
use core::arch::x86_64::{__m128i, _mm_set1_epi64x};

/// 16-byte stores of a line.
const QUARTERS: usize = LINE / 16;

/// `value` in both halves.
#[inline(always)]
fn both(value: u64) -> __m128i {
    // SAFETY: SSE2 is part of every target that has this module.
    unsafe { _mm_set1_epi64x(value.cast_signed()) }
}

/// Defines functions that store to the first quarters of each line, whose numbers are written out so
/// that there is no loop over them at any level of optimisation.
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
    /// Writes `lines` lines by four `movdqa` each; returns the address behind them.
    cached [0 1 2 3] |to, value| to.write_volatile(value);
    /// The same by four `movntdq` each.
    stream [0 1 2 3] |to, value| movntdq(to, value);
    /// The first quarter of each line by one `movntdq`.
    quarter [0] |to, value| movntdq(to, value);
    /// The first half of each line by two.
    half [0 1] |to, value| movntdq(to, value);
    /// Three quarters of each line by three.
    three_quarters [0 1 2] |to, value| movntdq(to, value);
}

/// Writes `groups` groups of `lines` lines by `movntdq`, a quarter of each line of a group in turn;
/// returns the address behind them. 1 store, 16 bytes per iteration of the inner loop.
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
