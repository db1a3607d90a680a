//! Kernels in `asm/*.S`, one family a file, under the same names. All follow the System V
//! calling convention and call nothing.

pub mod bandwidth;
pub mod chase;
pub mod code;
pub mod fields;
pub mod fill;
pub mod jump;
pub mod load;
pub mod orders;
pub mod pair;
pub mod prefetch;
pub mod register;
pub mod rewrite;
pub mod store;
pub mod tensor;
pub mod walk;
