//! How many bytes one instruction moves.

use crate::cpu::{Avx2, Avx512, Features};

/// The width of a store. The wide ones hold the proof that the CPU has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Width {
    /// 4 bytes of a general register.
    W4,
    /// 8 bytes of a general register.
    W8,
    /// 16 bytes of an xmm register.
    W16,
    /// 32 bytes of a ymm register.
    W32(Avx2),
    /// 64 bytes of a zmm register: a line.
    W64(Avx512),
}

impl Width {
    /// The widths there are, in bytes.
    pub const BYTES: [usize; 5] = [4, 8, 16, 32, 64];

    /// The width of `bytes` bytes; `None` if there is none, or if the CPU has no such register.
    pub fn of(bytes: usize, features: Features) -> Option<Width> {
        match bytes {
            4 => Some(Width::W4),
            8 => Some(Width::W8),
            16 => Some(Width::W16),
            32 => features.avx2().map(Width::W32),
            64 => features.avx512().map(Width::W64),
            _ => None,
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Width::W4 => 4,
            Width::W8 => 8,
            Width::W16 => 16,
            Width::W32(_) => 32,
            Width::W64(_) => 64,
        }
    }
}
