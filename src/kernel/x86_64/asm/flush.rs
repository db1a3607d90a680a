//! `asm/flush.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Evicts `lines` lines by one `clflush` each; returns the address behind them.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0.
    pub fn linefill_flush(at: *const u8, lines: u64) -> usize;

    /// The same by `clflushopt`.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clflushopt`.
    pub fn linefill_flush_opt(at: *const u8, lines: u64) -> usize;

    /// Writes `lines` lines back by one `clwb` each; returns the address behind them.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clwb`.
    pub fn linefill_flush_back(at: *const u8, lines: u64) -> usize;
}
