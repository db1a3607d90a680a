//! `asm/chase/walk.S`, `asm/chase/translate.S` and `asm/chase/prefetch.S` in Rust.
//!
//! A walk needs no intrinsic: a dependent load is an ordinary load. The words may be unaligned, because
//! layouts may be skewed. The prefetches are the functions of [`cpu`](crate::cpu).
//!
//! The work of a node is a loop of dependent multiplications with its own branch. The assembly instead
//! jumps into an unrolled run of multiplications, which a compiler does not generate. See
//! [`PrefetchWalk`](crate::kernel::PrefetchWalk) for the cost.

// Follows addresses that only the caller can vouch for.
#![allow(unsafe_code)]

use crate::cpu::{prefetchnta, prefetcht0, prefetcht1, prefetcht2, prefetchw};
use crate::kernel::intrinsics::one_at_a_time;
use core::hint::black_box;
use core::ptr::{with_exposed_provenance as from, with_exposed_provenance_mut as from_mut};

/// `at = *at`, `steps` times; returns the last address. 1 load, 8 bytes per step.
///
/// # Safety
/// `at` is the address of a readable word that holds the address of another such word, for `steps` steps.
#[inline(never)]
pub unsafe extern "sysv64" fn follow(mut at: usize, steps: u64) -> usize {
    for _ in 0..steps {
        // SAFETY: the caller vouches for the words.
        at = unsafe { from::<usize>(at).read_unaligned() };
        one_at_a_time();
    }
    at
}

/// Adds 1 to the word `pad` bytes from `at`, then `at = *at`, `steps` times. 2 loads, 1 store per step.
///
/// # Safety
/// As for [`follow`]; the words at `pad` are writable and are not pointers.
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

/// Loads 8 bytes at each place.
///
/// # Safety
/// As for [`Accesses`](crate::kernel::chase::translate::Accesses).
#[inline(never)]
pub unsafe extern "sysv64" fn load(
    base: usize,
    accesses: u64,
    stride: usize,
    mask: usize,
    mut place: usize,
) -> usize {
    for _ in 0..accesses {
        // SAFETY: the caller vouches for the places. Volatile, as the value is not used.
        unsafe { from::<u64>(base.wrapping_add(place)).read_volatile() };
        place = place.wrapping_add(stride) & mask;
        one_at_a_time();
    }
    place
}

/// Executes one `prefetcht0` at each place.
///
/// # Safety
/// No requirement: a prefetch may be of any address. The function is unsafe only to match
/// [`Accesses`](crate::kernel::chase::translate::Accesses).
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

/// Reads the word `offset` bytes from `at`, which need not be aligned.
///
/// # Safety
/// The word is readable.
#[inline(always)]
unsafe fn word(at: usize, offset: isize) -> usize {
    // SAFETY: the caller vouches for the word.
    unsafe { from::<usize>(at.wrapping_add_signed(offset)).read_unaligned() }
}

/// Does `work` multiplications, each of which depends on the one before.
#[inline(always)]
fn multiplied(mut value: usize, work: u64) -> usize {
    for _ in 0..work {
        value = value.wrapping_mul(value);
    }
    value
}

/// Defines two walks: in the first the next step does not wait for the work, in the second it does. A mask
/// that neither the compiler nor the CPU knows to be 0 clears the product. The first walk adds the result
/// to an unused number, the second to the address.
macro_rules! walks {
    ($($text:literal $name:ident $serial:ident |$at:ident, $jump:ident| $ahead:block)*) => {$(
        #[doc = concat!($text, "; the next step does not wait for the work.")]
        ///
        /// # Safety
        /// As for [`Walks`](crate::kernel::chase::prefetch::Walks).
        #[inline(never)]
        pub unsafe extern "sysv64" fn $name(
            mut $at: usize,
            steps: u64,
            $jump: isize,
            work: u64,
        ) -> usize {
            let none = black_box(0);
            let mut unread = 0_usize;
            for _ in 0..steps {
                // SAFETY: the caller vouches for the words.
                unsafe {
                    $ahead
                    $at = word($at, 0);
                }
                unread = unread.wrapping_add(multiplied($at, work) & none);
                one_at_a_time();
            }
            black_box(unread);
            $at
        }

        #[doc = concat!($text, "; the next step waits for the work.")]
        ///
        /// # Safety
        /// As for [`Walks`](crate::kernel::chase::prefetch::Walks).
        #[inline(never)]
        pub unsafe extern "sysv64" fn $serial(
            mut $at: usize,
            steps: u64,
            $jump: isize,
            work: u64,
        ) -> usize {
            let none = black_box(0);
            for _ in 0..steps {
                // SAFETY: the caller vouches for the words.
                unsafe {
                    $ahead
                    $at = word($at, 0);
                }
                $at = $at.wrapping_add(multiplied($at, work) & none);
                one_at_a_time();
            }
            $at
        }
    )*};
}

walks! {
    "No prefetch, and no load of the address for it: 1 load, 8 bytes per step"
        none none_serial |at, _jump| {}
    "`prefetcht0`: 2 loads, 16 bytes per step"
        t0 t0_serial |at, jump| { prefetcht0(from(word(at, jump))) }
    "`prefetcht1`: 2 loads, 16 bytes per step"
        t1 t1_serial |at, jump| { prefetcht1(from(word(at, jump))) }
    "`prefetcht2`: 2 loads, 16 bytes per step"
        t2 t2_serial |at, jump| { prefetcht2(from(word(at, jump))) }
    "`prefetchnta`: 2 loads, 16 bytes per step"
        nta nta_serial |at, jump| { prefetchnta(from(word(at, jump))) }
    "`prefetchw`: 2 loads, 16 bytes per step"
        w w_serial |at, jump| { prefetchw(from(word(at, jump))) }
}
