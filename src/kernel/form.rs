//! Which of its two forms a kernel runs in.

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

impl core::fmt::Display for NoIntrinsics {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "no form by intrinsics: string instructions have none, and soft-float targets have \
             none on vectors; assembly is had everywhere",
        )
    }
}

impl core::error::Error for NoIntrinsics {}
