//! Capability tokens: zero-sized proof that this CPU has an instruction set and that the operating
//! system supports it, or that a locked access may cross two lines.
//!
//! Only [`Features::detect`](super::Features::detect) creates tokens of instruction sets, from CPUID and
//! XCR0. All CPUs of a machine are assumed to be alike, as operating systems arrange it.

// Creates a token that CPUID alone cannot prove.
#![allow(unsafe_code)]

/// Defines the tokens: `Copy`, zero-sized, and constructible only in `cpu`.
macro_rules! tokens {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(());

        impl $name {
            /// Creates the token. Only for `features`, after CPUID has reported the feature.
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
    /// FMA3 on xmm and ymm registers, together with AVX2.
    Fma;
    /// AVX-512 F, BW, VL and DQ, with the opmask and zmm state saved by the operating system.
    Avx512;
    /// `clflushopt`.
    Clflushopt;
    /// `clwb`.
    Clwb;
    /// `cldemote`, which is a no-op on other CPUs.
    Cldemote;
    /// SSE4a: `movntsd` and `movntss`, which only AMD's CPUs have.
    Sse4a;
    /// `rdtscp`.
    Rdtscp;
}

/// Proof that a locked instruction may access two cache lines: neither this operating system nor its
/// host responds with a trap, a signal or a delay.
///
/// CPUs can raise an exception for such an access (Intel SDM volume 3, "Features to Disable Bus Locks"),
/// and Linux may then end the program with SIGBUS. CPUID does not report this setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitLocks(());

impl SplitLocks {
    /// Creates the token on the caller's word.
    ///
    /// # Safety
    /// Split locks of this program are not trapped for as long as it runs.
    pub const unsafe fn allowed() -> Self {
        SplitLocks(())
    }
}
