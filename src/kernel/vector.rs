//! Vector registers, by their size.

use crate::cpu::{Avx2, Avx512, Features};

/// The registers that move data. The wide ones hold the proof that the CPU has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vector {
    /// xmm: 16 bytes, the width of the documents.
    Sse2,
    /// ymm: 32 bytes.
    Avx2(Avx2),
    /// zmm: 64 bytes, a line.
    Avx512(Avx512),
}

impl Vector {
    /// The sizes there are, in bytes.
    pub const BYTES: [usize; 3] = [16, 32, 64];

    /// The register of `bytes` bytes; `None` if there is none, or if the CPU has no such register.
    pub fn of(bytes: usize, features: Features) -> Option<Vector> {
        match bytes {
            16 => Some(Vector::Sse2),
            32 => features.avx2().map(Vector::Avx2),
            64 => features.avx512().map(Vector::Avx512),
            _ => None,
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Vector::Sse2 => 16,
            Vector::Avx2(_) => 32,
            Vector::Avx512(_) => 64,
        }
    }
}
