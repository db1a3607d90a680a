//! `asm/fill.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the kernels that fill one line after the other: writes `lines` lines, or a part of
/// each; returns the address behind them.
///
/// # Safety
/// As for [`linefill_fill_cached`]; `sfence` follows non-temporal stores.
pub type Fills = unsafe extern "sysv64" fn(at: *mut u8, lines: u64, value: u64) -> usize;

/// The shape of the interleaved kernel.
///
/// # Safety
/// As for [`linefill_fill_interleaved`].
pub type Groups =
    unsafe extern "sysv64" fn(at: *mut u8, groups: u64, value: u64, lines: u64) -> usize;

unsafe extern "sysv64" {
    /// Writes `lines` lines by four `movdqa` each; returns the address behind them.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for writes; `lines` is not 0.
    pub fn linefill_fill_cached(at: *mut u8, lines: u64, value: u64) -> usize;

    /// Writes `lines` lines by four `movntdq` each; returns the address behind them.
    ///
    /// # Safety
    /// As for [`linefill_fill_cached`]; `sfence` follows.
    pub fn linefill_fill_stream(at: *mut u8, lines: u64, value: u64) -> usize;

    /// Writes the first quarter of `lines` lines by one `movntdq` each; returns the address behind
    /// the lines.
    ///
    /// # Safety
    /// As for [`linefill_fill_stream`].
    pub fn linefill_fill_quarter(at: *mut u8, lines: u64, value: u64) -> usize;

    /// The same for the first half of each line, by two stores.
    ///
    /// # Safety
    /// As for [`linefill_fill_stream`].
    pub fn linefill_fill_half(at: *mut u8, lines: u64, value: u64) -> usize;

    /// The same for three quarters of each line, by three stores.
    ///
    /// # Safety
    /// As for [`linefill_fill_stream`].
    pub fn linefill_fill_three_quarters(at: *mut u8, lines: u64, value: u64) -> usize;

    /// Writes `groups` groups of `lines` lines by `movntdq`, a quarter of each line of a group in
    /// turn; returns the address behind them.
    ///
    /// # Safety
    /// As for [`linefill_fill_stream`], with `groups * lines` lines; neither is 0.
    pub fn linefill_fill_interleaved(at: *mut u8, groups: u64, value: u64, lines: u64) -> usize;

    /// Writes `lines` lines by one `rep stosb` of the low byte of `value`; returns the address
    /// behind them.
    ///
    /// # Safety
    /// As for [`linefill_fill_cached`].
    pub fn linefill_fill_rep_stosb(at: *mut u8, lines: u64, value: u64) -> usize;
}
