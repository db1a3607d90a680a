//! `asm/alias.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Stores what is left of `iterations` to `store`, then loads `load`, `iterations` times;
    /// returns the word loaded last.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes, `load` for reads of 8 bytes that hold `load` itself;
    /// they have no byte in common; `iterations` is not 0.
    pub fn linefill_alias(store: *mut u8, load: *const u8, iterations: u64) -> usize;
}
