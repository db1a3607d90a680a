//! `asm/rewrite.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Stores `value`, `value + 1`, ... to the word at `at`, `stores` of them, by `mov`; returns
    /// the value behind the last.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `stores` is not 0.
    pub fn linefill_rewrite(at: *mut u64, stores: u64, value: u64) -> u64;

    /// The same, each store followed by `clwb`.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; the CPU has `clwb`.
    pub fn linefill_rewrite_through(at: *mut u64, stores: u64, value: u64) -> u64;

    /// The same by `movnti`.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; `sfence` follows before anybody relies on the word.
    pub fn linefill_rewrite_stream(at: *mut u64, stores: u64, value: u64) -> u64;
}
