//! `asm/walk.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// `at = *at`, `steps` times; returns the last address.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds such an address in turn, for `steps`
    /// steps; `steps` is not 0.
    pub fn linefill_walk_follow(at: usize, steps: u64) -> usize;

    /// Adds 1 to the word `pad` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_follow`]; the words at `pad` are writable and no pointers.
    pub fn linefill_walk_inc(at: usize, steps: u64, pad: isize) -> usize;

    /// Adds the word `other` bytes from `*at` to the word `pad` bytes from `at`, then `at = *at`,
    /// `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_inc`]; the words at `other` are readable.
    pub fn linefill_walk_addnext(at: usize, steps: u64, pad: isize, other: isize) -> usize;

    /// Reads the word `other` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_follow`]; the words at `other` are readable.
    pub fn linefill_walk_lines(at: usize, steps: u64, other: isize) -> usize;
}
