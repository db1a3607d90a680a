//! `asm/pair.S`.

// Declares assembly.
#![allow(unsafe_code)]

use super::fields::Stop;

unsafe extern "sysv64" {
    /// Adds up the words `first` and `second` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds such an address in turn, for `steps`
    /// steps; the words at both distances are readable; `steps` is not 0.
    pub fn linefill_pair(at: usize, steps: u64, first: isize, second: isize) -> Stop;
}
