//! `asm/take.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family. Writes one line after the other, `operations` of them, from the one
/// `first` bytes from `lines` on, each `step` bytes after the one before, modulo `mask` + 1;
/// prefetches the line `ahead` bytes after it. Returns the offset of the line that would be next.
///
/// # Safety
/// The words at all offsets that come up are aligned and valid for reads and writes of 8 bytes, by
/// other threads atomically at most; `operations` is not 0. The lines to be prefetched may lie
/// anywhere.
pub type Takes = unsafe extern "sysv64" fn(
    lines: *mut u64,
    operations: u64,
    first: u64,
    mask: u64,
    step: u64,
    ahead: u64,
) -> u64;

macro_rules! takes {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// See [`Takes`].
            pub fn $name(
                lines: *mut u64,
                operations: u64,
                first: u64,
                mask: u64,
                step: u64,
                ahead: u64,
            ) -> u64;
        )*}
    };
}

takes! {
    /// Stores.
    linefill_take_store
    /// Stores, after `prefetcht0`.
    linefill_take_store_t0
    /// Stores, after `prefetchw`.
    linefill_take_store_w
    /// Adds 1 by `lock add`.
    linefill_take_add
    /// The same after `prefetcht0`.
    linefill_take_add_t0
    /// The same after `prefetchw`.
    linefill_take_add_w
}
