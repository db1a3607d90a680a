//! Memory that no cache holds.

// Flushes lines by address, because a pattern owns the region by then.
#![allow(unsafe_code)]

use crate::cpu::{Features, clflush, clflushopt, mfence};
use crate::mem::LINE;

/// Flushes the lines of `bytes` bytes from the line at `first` on.
///
/// A pattern that was just laid out leaves part of itself in the caches, and a walk over much
/// more than they hold would find it there on its first lap, and never again.
///
/// # Safety
/// The bytes are mapped and readable.
pub(crate) unsafe fn flush_bytes(first: *const u8, bytes: usize, features: &Features) {
    let lines = (0..bytes).step_by(LINE).map(|at| first.wrapping_add(at));
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match features.clflushopt() {
            Some(token) => lines.for_each(|line| clflushopt(token, line)),
            None => lines.for_each(|line| clflush(line)),
        }
    }
    mfence();
}
