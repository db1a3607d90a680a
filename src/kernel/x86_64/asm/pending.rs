//! `asm/pending.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Counts up from `before`, once a round, behind twelve dependent divisions, and stores the
    /// count `stores` times to the word at `at`; returns the last count.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `rounds` is not 0, and `stores` at
    /// most 128.
    pub fn linefill_pending(at: *mut u64, rounds: u64, stores: u64, before: u64) -> u64;
}
