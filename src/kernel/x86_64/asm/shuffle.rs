//! `asm/shuffle.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Exchanges elements `i - 1` and `table[i - 1]` of `data`, for `exchanges` numbers `i` from
    /// `from` downwards.
    ///
    /// # Safety
    /// `data` and `table` have at least `from` elements, those of `data` writable; `from` is more
    /// than `exchanges`, which is not 0. An index of `i` or more ends in `ud2`.
    pub fn linefill_shuffle_table(data: *mut u32, table: *const u32, from: u64, exchanges: u64);

    /// The same, four exchanges to an iteration, `fours` times.
    ///
    /// # Safety
    /// As for [`linefill_shuffle_table`], the exchanges being four times as many.
    pub fn linefill_shuffle_unrolled(data: *mut u32, table: *const u32, from: u64, fours: u64);

    /// The same with indices drawn by the generator whose seed and probe `generator` points to.
    ///
    /// # Safety
    /// As for [`linefill_shuffle_table`], and `from` is no more than 2^31 - 1; `generator` points
    /// to 16 writable bytes, and is aligned to 8. A probe of 0 ends in `ud2`.
    pub fn linefill_shuffle_random(data: *mut u32, generator: *mut u64, from: u64, exchanges: u64);

    /// The same as [`linefill_shuffle_table`] in `stages` stages: `length` indices are copied to
    /// `buffer`, then used.
    ///
    /// # Safety
    /// As there, `stages * length` being the exchanges, and `buffer` has `length` writable
    /// elements that overlap nothing else.
    pub fn linefill_staged_table(
        data: *mut u32,
        table: *const u32,
        from: u64,
        stages: u64,
        buffer: *mut u32,
        length: u64,
    );

    /// The same as [`linefill_shuffle_random`] in stages.
    ///
    /// # Safety
    /// As for both.
    pub fn linefill_staged_random(
        data: *mut u32,
        generator: *mut u64,
        from: u64,
        stages: u64,
        buffer: *mut u32,
        length: u64,
    );
}
