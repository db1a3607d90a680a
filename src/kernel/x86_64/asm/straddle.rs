//! `asm/straddle.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Walks `steps` steps by 4-byte loads; returns the address of the pointer word it came to.
    ///
    /// # Safety
    /// `at` is the address of a pointer word, and every pointer word that the walk comes to holds
    /// the address of another; all lie between `base` and 4 GiB above; `steps` is not 0.
    pub fn linefill_straddle4(at: usize, steps: u64, base: usize) -> usize;

    /// The same by 16-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle4`], whatever `base` is; 16 bytes from each pointer word on are
    /// readable.
    pub fn linefill_straddle16(at: usize, steps: u64, base: usize) -> usize;

    /// The same by 32-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle16`] with 32 bytes; the CPU has AVX2.
    pub fn linefill_straddle32(at: usize, steps: u64, base: usize) -> usize;

    /// The same by 64-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle16`] with 64 bytes; the CPU has AVX-512.
    pub fn linefill_straddle64(at: usize, steps: u64, base: usize) -> usize;
}
