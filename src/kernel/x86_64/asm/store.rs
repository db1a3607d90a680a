//! `asm/store.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of all stores.
///
/// # Safety
/// All `stores` stores at `at`, `at + stride`, ... lie in memory valid for writes; `at` and
/// `stride` are multiples of the width; `stores` is not 0; the CPU has the instruction.
/// Non-temporal stores are followed by `sfence` before anybody relies on them.
pub type Stores =
    unsafe extern "sysv64" fn(at: *mut u8, stride: usize, stores: u64, value: u64) -> usize;

macro_rules! stores {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// Returns `at` advanced by all stores.
            ///
            /// # Safety
            /// See [`Stores`].
            pub fn $name(at: *mut u8, stride: usize, stores: u64, value: u64) -> usize;
        )*}
    };
}

stores! {
    /// `mov`, 4 bytes: the low half of `value`.
    linefill_store4
    /// `mov`, 8 bytes.
    linefill_store8
    /// `movdqa`, 16 bytes.
    linefill_store16
    /// `vmovdqa`, 32 bytes: needs AVX2.
    linefill_store32
    /// `vmovdqa64`, 64 bytes: needs AVX-512.
    linefill_store64
    /// `movnti`, 4 bytes: the low half of `value`.
    linefill_stream4
    /// `movnti`, 8 bytes.
    linefill_stream8
    /// `movntdq`, 16 bytes.
    linefill_stream16
    /// `vmovntdq`, 32 bytes: needs AVX2.
    linefill_stream32
    /// `vmovntdq`, 64 bytes: needs AVX-512.
    linefill_stream64
}
