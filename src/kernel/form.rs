//! The form of a kernel (assembly or intrinsics), and the registers that make its accesses.

use crate::cpu::{Avx2, Avx512, Features};

/// How a kernel's loop is produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Assembled from `asm/<subject>/*.S`: exactly these instructions at exactly these addresses.
    #[default]
    Assembly,
    /// Compiled from Rust with the intrinsics of `core::arch`, as in an ordinary program. The loop makes
    /// the same memory accesses; the compiler chooses registers, counters and placement. A debug build
    /// does not optimise the loop, and its times mean nothing.
    Intrinsics,
}

impl Form {
    /// Both forms.
    pub const ALL: [Form; 2] = [Form::Assembly, Form::Intrinsics];

    /// The forms of vector kernels: a soft-float target has only assembly.
    pub(crate) fn on_vectors() -> &'static [Form] {
        if cfg!(target_feature = "sse2") { &Form::ALL } else { &[Form::Assembly] }
    }
}

/// The kernel has no form with intrinsics: string instructions have no intrinsic, and a soft-float
/// target has no vector intrinsics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIntrinsics;

messages! { NoIntrinsics:
    NoIntrinsics => (
        "no form by intrinsics: string instructions have none, and soft-float targets have \
         none on vectors; `Form::Assembly` works everywhere"
    );
}

/// The vector register that moves data. The wide variants hold the proof that the CPU has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vector {
    /// xmm: 16 bytes, the width that the cited papers use.
    Sse2,
    /// ymm: 32 bytes.
    Avx2(Avx2),
    /// zmm: 64 bytes, a line.
    Avx512(Avx512),
}

impl Vector {
    /// All register sizes in bytes.
    pub const BYTES: [usize; 3] = [16, 32, 64];

    /// Returns the register of `bytes` bytes; `None` for other sizes, or if the CPU lacks the register.
    pub fn of(bytes: usize, features: Features) -> Option<Vector> {
        match bytes {
            16 => Some(Vector::Sse2),
            32 => features.avx2().map(Vector::Avx2),
            64 => features.avx512().map(Vector::Avx512),
            _ => None,
        }
    }

    /// Size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Vector::Sse2 => 16,
            Vector::Avx2(_) => 32,
            Vector::Avx512(_) => 64,
        }
    }
}

/// The width of a store. The wide variants hold the proof that the CPU has them.
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
    /// All widths in bytes.
    pub const BYTES: [usize; 5] = [4, 8, 16, 32, 64];

    /// Returns the width of `bytes` bytes; `None` for other sizes, or if the CPU lacks the register.
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

    /// Width in bytes.
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
