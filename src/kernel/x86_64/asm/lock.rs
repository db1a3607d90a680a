//! `asm/lock.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Adds 1 to the word at `at` by `lock xadd`, `additions` times; returns the word as it was
    /// before the last addition.
    ///
    /// # Safety
    /// `at` is valid for reads and writes of 8 bytes; `additions` is not 0. If the 8 bytes lie
    /// across two lines, nobody traps split locks.
    pub fn linefill_lock_add(at: *mut u8, additions: u64) -> u64;
}
