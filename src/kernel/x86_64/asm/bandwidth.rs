//! `asm/bandwidth.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family. `first` is the address of the block to begin with, `blocks` how many
/// there are to do, `again` the address of the block that follows on the last, `end` the address
/// behind the last. Returns the address where the next block would begin; the reads return the
/// wrapping sum of the 8-byte words in the last 128 bytes they read.
///
/// # Safety
/// Blocks of 512 bytes from `again` to `end`, `first` among them, are valid for what the kernel
/// does; where it works on two halves, so are their partners `value` bytes away. All are addresses of lines. `blocks` is not 0. The CPU has the width.
/// Non-temporal stores are followed by `sfence` before anybody relies on them.
pub type Blocks = unsafe extern "sysv64" fn(
    first: *mut u8,
    blocks: u64,
    again: *mut u8,
    end: *mut u8,
    value: u64,
) -> u64;

macro_rules! blocks {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// See [`Blocks`].
            pub fn $name(
                first: *mut u8,
                blocks: u64,
                again: *mut u8,
                end: *mut u8,
                value: u64,
            ) -> u64;
        )*}
    };
}

blocks! {
    /// Reads by `movdqa`.
    linefill_bandwidth_read16
    /// Reads by `vmovdqa`: needs AVX2.
    linefill_bandwidth_read32
    /// Reads by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_read64
    /// Reads two halves by `movdqa`, a line of each in turn.
    linefill_bandwidth_read_halves16
    /// Reads two halves by `vmovdqa`: needs AVX2.
    linefill_bandwidth_read_halves32
    /// Reads two halves by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_read_halves64
    /// Writes `value` by `movdqa`.
    linefill_bandwidth_write16
    /// Writes `value` by `vmovdqa`: needs AVX2.
    linefill_bandwidth_write32
    /// Writes `value` by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_write64
    /// Writes `value` past the cache by `movntdq`.
    linefill_bandwidth_stream16
    /// Writes `value` past the cache by `vmovntdq`: needs AVX2.
    linefill_bandwidth_stream32
    /// Writes `value` past the cache by `vmovntdq`: needs AVX-512.
    linefill_bandwidth_stream64
    /// Adds `value` to each word by `movdqa`, `paddq`, `movdqa`.
    linefill_bandwidth_update16
    /// Adds `value` to each word by `vmovdqa`, `vpaddq`, `vmovdqa`: needs AVX2.
    linefill_bandwidth_update32
    /// Adds `value` to each word by `vmovdqa64`, `vpaddq`, `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_update64
    /// Copies the first half to the second by `movdqa`.
    linefill_bandwidth_copy16
    /// Copies the first half to the second by `vmovdqa`: needs AVX2.
    linefill_bandwidth_copy32
    /// Copies the first half to the second by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_copy64
    /// Copies the first half to the second by `movdqa` and `movntdq`.
    linefill_bandwidth_copy_stream16
    /// Copies the first half to the second by `vmovdqa` and `vmovntdq`: needs AVX2.
    linefill_bandwidth_copy_stream32
    /// Copies the first half to the second by `vmovdqa64` and `vmovntdq`: needs AVX-512.
    linefill_bandwidth_copy_stream64
    /// Writes the low byte of `value` by one `rep stosb`, all blocks before `end` at most: `again`
    /// is not read.
    linefill_bandwidth_rep_stosb
    /// Copies the first half to the second by one `rep movsb`, all blocks before `end` at most:
    /// `again` is not read.
    linefill_bandwidth_rep_movsb
}
