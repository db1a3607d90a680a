//! `asm/load.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Reads `lines` lines by four `movdqa` each; returns the wrapping sum of their 8-byte words.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0.
    pub fn linefill_load_cached(at: *const u8, lines: u64) -> u64;

    /// The same by four `movntdqa` each.
    ///
    /// # Safety
    /// As for [`linefill_load_cached`]; the CPU has SSE4.1.
    pub fn linefill_load_stream(at: *const u8, lines: u64) -> u64;
}
