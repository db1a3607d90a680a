//! `asm/lanes.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Takes each of `lanes` walks `rounds` steps further, a step of each in turn.
    ///
    /// # Safety
    /// `cursors` points to `lanes` writable words, each the address of a word that holds an
    /// address of such a word, and so on for `rounds` steps; neither number is 0.
    pub fn linefill_lanes(cursors: *mut u64, lanes: u64, rounds: u64);
}
