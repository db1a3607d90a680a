//! Memory that no cache holds.

// Flushes lines by address, because a pattern already owns the region.
#![allow(unsafe_code)]

use crate::cpu::{Features, clflush, clflushopt, mfence};
use crate::mem::LINE;

/// Flushes the lines of `bytes` bytes, starting with the line at `first`.
///
/// A pattern that was laid out a moment ago is partly in the caches. A walk over much more than they
/// hold would hit it on its first lap, and never again.
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
