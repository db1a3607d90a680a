//! `asm/load.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family: reads `lines` lines and returns the wrapping sum of their 8-byte words.
///
/// # Safety
/// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0; the CPU has
/// the load.
pub type Loads = unsafe extern "sysv64" fn(at: *const u8, lines: u64) -> u64;

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

    /// The same by two `vmovdqa` of 32 bytes each.
    ///
    /// # Safety
    /// As for [`linefill_load_cached`]; the CPU has AVX2.
    pub fn linefill_load_cached32(at: *const u8, lines: u64) -> u64;

    /// The same by two `vmovntdqa` of 32 bytes each.
    ///
    /// # Safety
    /// As for [`linefill_load_cached32`].
    pub fn linefill_load_stream32(at: *const u8, lines: u64) -> u64;

    /// The same by one `vmovdqa64` of 64 bytes each.
    ///
    /// # Safety
    /// As for [`linefill_load_cached`]; the CPU has AVX-512.
    pub fn linefill_load_cached64(at: *const u8, lines: u64) -> u64;

    /// The same by one `vmovntdqa` of 64 bytes each.
    ///
    /// # Safety
    /// As for [`linefill_load_cached64`].
    pub fn linefill_load_stream64(at: *const u8, lines: u64) -> u64;
}
