//! `asm/register.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Inverts `value` `steps` times.
    ///
    /// # Safety
    /// `steps` is not 0.
    pub fn linefill_register(value: u64, steps: u64) -> u64;
}
