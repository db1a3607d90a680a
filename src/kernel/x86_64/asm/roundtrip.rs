//! `asm/roundtrip.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Waits by loads until the word at `at` is `awaited`, and stores the next number, `operations`
    /// times, `awaited` growing by `threads` each time; returns what it would wait for next.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes, by other threads atomically at
    /// most; `operations` is not 0. Does not return unless others make the word what is awaited.
    pub fn linefill_roundtrip_store(
        at: *mut u64,
        operations: u64,
        awaited: u64,
        threads: u64,
    ) -> u64;

    /// The same by `lock cmpxchg` alone.
    ///
    /// # Safety
    /// As [`linefill_roundtrip_store`].
    pub fn linefill_roundtrip_compare(
        at: *mut u64,
        operations: u64,
        awaited: u64,
        threads: u64,
    ) -> u64;
}
