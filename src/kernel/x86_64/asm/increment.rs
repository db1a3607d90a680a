//! `asm/increment.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Adds 1 to the word at `at` by one instruction that is not atomic, `operations` times;
    /// returns the word after the last one.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes, by other threads atomically at
    /// most; `operations` is not 0.
    pub fn linefill_increment_plain(at: *mut u64, operations: u64) -> u64;

    /// Adds 1 to the word at `at` by `lock cmpxchg`, again until it succeeds, `operations` times;
    /// returns the word after the last one.
    ///
    /// # Safety
    /// As [`linefill_increment_plain`].
    pub fn linefill_increment_compare(at: *mut u64, operations: u64) -> u64;

    /// Takes the lock at `at`, 0 while it is free, by `xchg`, and gives it back by a store,
    /// `operations` times; returns `operations`.
    ///
    /// # Safety
    /// As [`linefill_increment_plain`]; whoever makes the word something other than 0 makes it 0
    /// again.
    pub fn linefill_increment_spin(at: *mut u64, operations: u64) -> u64;
}
