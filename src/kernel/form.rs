//! In which form, and by which registers, a kernel makes its accesses.

use crate::cpu::{Avx2, Avx512, Features};

/// How a kernel's loop came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// Assembled from `asm/*.S`: exactly these instructions at exactly these places.
    #[default]
    Assembly,
    /// Compiled from Rust with the intrinsics of `core::arch`, as a program would have it. The loop
    /// holds the same accesses to memory; the compiler chooses registers, counters and placement.
    /// In a debug build it is as slow as all of that, and measures nothing.
    Intrinsics,
}

impl Form {
    /// Both.
    pub const ALL: [Form; 2] = [Form::Assembly, Form::Intrinsics];

    /// The forms of kernels on vectors: a soft-float target has them in assembly alone.
    pub(crate) fn on_vectors() -> &'static [Form] {
        match cfg!(target_feature = "sse2") {
            true => &Form::ALL,
            false => &[Form::Assembly],
        }
    }
}

/// There is no such kernel by intrinsics: a string instruction has none, and a soft-float target
/// none on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIntrinsics;

messages! { NoIntrinsics:
    NoIntrinsics => (
        "no form by intrinsics: string instructions have none, and soft-float targets have \
         none on vectors; assembly is had everywhere"
    );
}

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
