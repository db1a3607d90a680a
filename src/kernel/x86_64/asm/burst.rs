//! `asm/burst.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of all bursts.
///
/// # Safety
/// The eight accesses of each burst, at `first + (index & mask) + k * apart` for k from 0 to 7 with
/// an index that grows by `step` from burst to burst, lie in memory valid for reads, or for writes
/// where the kernel stores; `bursts` is not 0; the CPU has the instruction. Where the name ends in
/// `_aligned` all of them are multiples of 16.
pub type Bursts = unsafe extern "sysv64" fn(
    first: *mut u8,
    index: u64,
    step: u64,
    mask: u64,
    apart: usize,
    bursts: u64,
) -> u64;

macro_rules! bursts {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// Returns the low 8 bytes of the value moved last, or all of its 4.
            ///
            /// # Safety
            /// See [`Bursts`].
            pub fn $name(
                first: *mut u8,
                index: u64,
                step: u64,
                mask: u64,
                apart: usize,
                bursts: u64,
            ) -> u64;
        )*}
    };
}

bursts! {
    /// `mov`, 4 bytes.
    linefill_burst_load4
    /// `mov`, 8 bytes.
    linefill_burst_load8
    /// `movdqu`, 16 bytes.
    linefill_burst_load16
    /// `movdqa`, 16 bytes.
    linefill_burst_load16_aligned
    /// `vmovdqu`, 32 bytes: needs AVX2.
    linefill_burst_load32
    /// `vmovdqu64`, 64 bytes: needs AVX-512.
    linefill_burst_load64
    /// `mov`, 4 bytes.
    linefill_burst_store4
    /// `mov`, 8 bytes.
    linefill_burst_store8
    /// `movdqu`, 16 bytes.
    linefill_burst_store16
    /// `movdqa`, 16 bytes.
    linefill_burst_store16_aligned
    /// `vmovdqu`, 32 bytes: needs AVX2.
    linefill_burst_store32
    /// `vmovdqu64`, 64 bytes: needs AVX-512.
    linefill_burst_store64
}
