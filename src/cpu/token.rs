//! Capability tokens: zero-sized proof that this CPU, under this operating system, has an
//! instruction set, or that a word may be locked across two lines.
//!
//! Only [`Features::detect`](super::Features::detect) makes those of instruction sets, from CPUID and
//! XCR0. All CPUs of a machine are assumed alike, as operating systems arrange it.

// Makes a token that CPUID alone cannot prove.
#![allow(unsafe_code)]

/// Defines the tokens: `Copy`, without size, and constructible in this room alone.
macro_rules! tokens {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(());

        impl $name {
            /// For `features` alone, which has asked CPUID.
            pub(super) const fn proven() -> Self {
                $name(())
            }
        }
    )*};
}

tokens! {
    /// SSE4.1: `movntdqa` on xmm registers.
    Sse41;
    /// AVX and AVX2, with the ymm state saved by the operating system.
    Avx2;
    /// FMA3 on xmm and ymm registers, and AVX2 along with it.
    Fma;
    /// AVX-512 F, BW, VL and DQ, with the opmask and zmm state saved by the operating system.
    Avx512;
    /// `clflushopt`.
    Clflushopt;
    /// `clwb`.
    Clwb;
    /// `cldemote`, which elsewhere does nothing.
    Cldemote;
    /// SSE4a: `movntsd` and `movntss`, which AMD's CPUs alone have.
    Sse4a;
    /// `rdtscp`.
    Rdtscp;
}

/// Proof that a locked instruction may work across two cache lines here: that neither this
/// operating system nor its host answers it with a trap, a signal or a pause.
///
/// CPUs can raise an exception instead (Intel SDM volume 3, "Features to Disable Bus Locks"), and
/// Linux may then end the program with SIGBUS. CPUID does not tell how that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitLocks(());

impl SplitLocks {
    /// Takes the caller's word.
    ///
    /// # Safety
    /// Nobody traps split locks of this program, as long as it runs.
    pub const unsafe fn allowed() -> Self {
        SplitLocks(())
    }
}
