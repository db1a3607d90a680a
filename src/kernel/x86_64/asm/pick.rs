//! `asm/pick.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Adds up the first word and the one `second` bytes behind it of `picks` elements.
    ///
    /// # Safety
    /// `indices` is the address of `picks` indices; as many words behind `first` as each says
    /// there is a readable word, and another `second` bytes behind it; `picks` is not 0.
    pub fn linefill_pick(first: *const u8, indices: *const u8, picks: u64, second: usize) -> u64;
}
