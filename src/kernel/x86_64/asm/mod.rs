//! Kernels in `asm/*.S`, one family a file, under the same names. All follow the System V
//! calling convention and call nothing.

pub mod code;
pub mod jump;
pub mod walk;
