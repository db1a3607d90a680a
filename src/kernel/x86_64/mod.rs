//! The kernels' instructions.

pub mod asm;
