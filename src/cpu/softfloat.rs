//! Assembly replacements for the intrinsics of `core::arch::x86_64` that this crate uses and a
//! soft-float target cannot inline. They have the intrinsics' names.
//!
//! On `x86_64-unknown-none` and `-uefi`, compiled code uses no SSE. The intrinsics are declared with
//! `#[target_feature(enable = "sse")]` or `"sse2"`, so on these targets each would be a function call
//! instead of an instruction. None of these instructions needs a vector register.
//!
//! Sources: see the module that uses each instruction.

// Replaces unsafe functions of `core` by assembly.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _MM_HINT_T2};

/// Executes `lfence`.
///
/// # Safety
/// No requirement; unsafe only because the intrinsic is, outside a function with its target feature.
#[inline(always)]
pub(super) unsafe fn _mm_lfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("lfence", options(nostack, preserves_flags)) };
}

/// Executes `sfence`.
///
/// # Safety
/// As for [`_mm_lfence`].
#[inline(always)]
pub(super) unsafe fn _mm_sfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

/// Executes `mfence`.
///
/// # Safety
/// As for [`_mm_lfence`].
#[inline(always)]
pub(super) unsafe fn _mm_mfence() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}

/// Executes `clflush`.
///
/// # Safety
/// A byte load from `ptr` would not fault.
#[inline(always)]
pub(super) unsafe fn _mm_clflush(ptr: *const u8) {
    // SAFETY: the caller vouches for `ptr`.
    unsafe { asm!("clflush [{}]", in(reg) ptr, options(nostack, preserves_flags)) };
}

/// Executes `prefetcht0`, `prefetcht1`, `prefetcht2` or `prefetchnta`, as `HINT` selects.
///
/// # Safety
/// As for [`_mm_lfence`].
#[inline(always)]
pub(super) unsafe fn _mm_prefetch<const HINT: i32>(ptr: *const i8) {
    const {
        assert!(matches!(HINT, _MM_HINT_T0 | _MM_HINT_T1 | _MM_HINT_T2 | _MM_HINT_NTA));
    }
    // SAFETY: a prefetch changes no register or memory and never faults.
    unsafe {
        match HINT {
            _MM_HINT_T0 => {
                asm!("prefetcht0 [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags));
            }
            _MM_HINT_T1 => {
                asm!("prefetcht1 [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags));
            }
            _MM_HINT_T2 => {
                asm!("prefetcht2 [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags));
            }
            _ => {
                asm!("prefetchnta [{}]", in(reg) ptr, options(readonly, nostack, preserves_flags));
            }
        }
    }
}

/// Executes `movnti` of 32 bits.
///
/// # Safety
/// `dst` is valid for a write of 4 bytes.
#[inline(always)]
pub(super) unsafe fn _mm_stream_si32(dst: *mut i32, value: i32) {
    // SAFETY: the caller vouches for `dst`.
    unsafe {
        asm!("movnti [{}], {:e}", in(reg) dst, in(reg) value, options(nostack, preserves_flags));
    }
}

/// Executes `movnti` of 64 bits.
///
/// # Safety
/// `dst` is valid for a write of 8 bytes.
#[inline(always)]
pub(super) unsafe fn _mm_stream_si64(dst: *mut i64, value: i64) {
    // SAFETY: the caller vouches for `dst`.
    unsafe {
        asm!("movnti [{}], {}", in(reg) dst, in(reg) value, options(nostack, preserves_flags));
    }
}

/// Compiled for the tests of hard-float targets too, to check that the replacements have the intrinsics'
/// types and effects.
#[cfg(all(test, target_feature = "sse2"))]
mod tests {
    use super::*;
    use core::arch::x86_64 as intrinsics;

    #[test]
    fn what_stands_in_has_the_types_of_the_intrinsics() {
        let fences: [[unsafe fn(); 2]; 3] = [
            [_mm_lfence, intrinsics::_mm_lfence],
            [_mm_sfence, intrinsics::_mm_sfence],
            [_mm_mfence, intrinsics::_mm_mfence],
        ];
        for fence in fences.into_iter().flatten() {
            // SAFETY: every x86-64 CPU has the fences.
            unsafe { fence() };
        }
        let flushes: [unsafe fn(*const u8); 2] = [_mm_clflush, intrinsics::_mm_clflush];
        let prefetches: [[unsafe fn(*const i8); 2]; 4] = [
            [_mm_prefetch::<_MM_HINT_T0>, intrinsics::_mm_prefetch::<_MM_HINT_T0>],
            [_mm_prefetch::<_MM_HINT_T1>, intrinsics::_mm_prefetch::<_MM_HINT_T1>],
            [_mm_prefetch::<_MM_HINT_T2>, intrinsics::_mm_prefetch::<_MM_HINT_T2>],
            [_mm_prefetch::<_MM_HINT_NTA>, intrinsics::_mm_prefetch::<_MM_HINT_NTA>],
        ];
        let line = [7_u8; 64];
        for flush in flushes {
            for prefetch in prefetches.into_iter().flatten() {
                // SAFETY: the line is this thread's own; a prefetch takes any address.
                unsafe {
                    flush(line.as_ptr());
                    prefetch(line.as_ptr().cast());
                    prefetch(core::ptr::null());
                }
            }
        }
        assert_eq!(line, [7; 64]);
    }

    #[test]
    fn stores_write_their_width() {
        let narrow: [unsafe fn(*mut i32, i32); 2] = [_mm_stream_si32, intrinsics::_mm_stream_si32];
        let wide: [unsafe fn(*mut i64, i64); 2] = [_mm_stream_si64, intrinsics::_mm_stream_si64];
        for (narrow, wide) in narrow.into_iter().zip(wide) {
            let mut words = [-1_i64; 3];
            let at = words.as_mut_ptr();
            // SAFETY: both stores stay within the three words; `sfence` follows.
            unsafe {
                narrow(at.cast(), 0x1234_5678);
                wide(at.add(1), 0x1122_3344_5566_7788);
                _mm_sfence();
            }
            let low = 0xffff_ffff_1234_5678_u64 as i64;
            assert_eq!(words, [low, 0x1122_3344_5566_7788, -1]);
        }
    }
}
