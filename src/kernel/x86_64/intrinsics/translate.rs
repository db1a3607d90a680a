//! `asm/translate.S` by a load or by [`prefetcht0`].

// Reads places that only the caller can vouch for.
#![allow(unsafe_code)]

use core::ptr::with_exposed_provenance as from;

use super::one_at_a_time;
use crate::cpu::prefetcht0;

/// One load of 8 bytes at each place.
///
/// # Safety
/// As for [`Accesses`](crate::kernel::x86_64::asm::translate::Accesses).
#[inline(never)]
pub unsafe extern "sysv64" fn load(
    base: usize,
    accesses: u64,
    stride: usize,
    mask: usize,
    mut place: usize,
) -> usize {
    for _ in 0..accesses {
        // SAFETY: the caller vouches for the places. Volatile, as nobody uses the value.
        unsafe { from::<u64>(base.wrapping_add(place)).read_volatile() };
        place = place.wrapping_add(stride) & mask;
        one_at_a_time();
    }
    place
}

/// One `prefetcht0` at each place.
///
/// # Safety
/// As for [`Accesses`](crate::kernel::x86_64::asm::translate::Accesses): none is needed, it is
/// unsafe for its shape.
#[inline(never)]
pub unsafe extern "sysv64" fn prefetch(
    base: usize,
    accesses: u64,
    stride: usize,
    mask: usize,
    mut place: usize,
) -> usize {
    for _ in 0..accesses {
        prefetcht0(from(base.wrapping_add(place)));
        place = place.wrapping_add(stride) & mask;
        one_at_a_time();
    }
    place
}
