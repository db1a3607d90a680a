//! The kernels' instructions.

pub mod asm;
pub mod intrinsics;
