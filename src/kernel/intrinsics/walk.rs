//! `asm/walk.S` in Rust. A walk takes no intrinsic: a dependent load is a load. The words need no
//! alignment, as layouts may be skewed.

// Follows addresses that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::kernel::intrinsics::one_at_a_time;
use core::ptr::{with_exposed_provenance as from, with_exposed_provenance_mut as from_mut};

/// `at = *at`, `steps` times; returns the last address. 1 load, 8 bytes per step.
///
/// # Safety
/// `at` is the address of a readable word that holds such an address in turn, for `steps` steps.
#[inline(never)]
pub unsafe extern "sysv64" fn follow(mut at: usize, steps: u64) -> usize {
    for _ in 0..steps {
        // SAFETY: the caller vouches for the words.
        at = unsafe { from::<usize>(at).read_unaligned() };
        one_at_a_time();
    }
    at
}

/// Adds 1 to the word `pad` bytes from `at`, then `at = *at`, `steps` times. 2 loads, 1 store a
/// step.
///
/// # Safety
/// As for [`follow`]; the words at `pad` are writable and no pointers.
#[inline(never)]
pub unsafe extern "sysv64" fn inc(mut at: usize, steps: u64, pad: isize) -> usize {
    for _ in 0..steps {
        let counter = from_mut::<u64>(at.wrapping_add_signed(pad));
        // SAFETY: the caller vouches for the words.
        unsafe {
            counter.write_unaligned(counter.read_unaligned().wrapping_add(1));
            at = from::<usize>(at).read_unaligned();
        }
        one_at_a_time();
    }
    at
}

/// Adds the word `other` bytes from `*at` to the word `pad` bytes from `at`, then `at = *at`,
/// `steps` times. 3 loads, 1 store per step.
///
/// # Safety
/// As for [`inc`]; the words at `other` are readable.
#[inline(never)]
pub unsafe extern "sysv64" fn addnext(
    mut at: usize,
    steps: u64,
    pad: isize,
    other: isize,
) -> usize {
    for _ in 0..steps {
        let sum = from_mut::<u64>(at.wrapping_add_signed(pad));
        // SAFETY: the caller vouches for the words.
        unsafe {
            at = from::<usize>(at).read_unaligned();
            let addend = from::<u64>(at.wrapping_add_signed(other)).read_unaligned();
            sum.write_unaligned(sum.read_unaligned().wrapping_add(addend));
        }
        one_at_a_time();
    }
    at
}
