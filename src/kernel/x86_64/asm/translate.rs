//! `asm/translate.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of both kernels: `accesses` places, `stride` bytes apart and round and round in
/// `mask` + 1 bytes, from `first` bytes behind `base` on. Returns where the next one would be.
///
/// # Safety
/// `accesses` is not 0. For the load, 8 bytes at each place are valid for reads; a prefetch may be
/// of anything.
pub type Accesses = unsafe extern "sysv64" fn(
    base: usize,
    accesses: u64,
    stride: usize,
    mask: usize,
    first: usize,
) -> usize;

unsafe extern "sysv64" {
    /// `mov`.
    ///
    /// # Safety
    /// See [`Accesses`].
    pub fn linefill_translate_load(
        base: usize,
        accesses: u64,
        stride: usize,
        mask: usize,
        first: usize,
    ) -> usize;

    /// `prefetcht0`.
    ///
    /// # Safety
    /// See [`Accesses`].
    pub fn linefill_translate_prefetch(
        base: usize,
        accesses: u64,
        stride: usize,
        mask: usize,
        first: usize,
    ) -> usize;
}
