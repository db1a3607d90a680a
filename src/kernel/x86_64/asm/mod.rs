//! Kernels in `asm/*.S`, one family a file, under the same names. All follow the System V
//! calling convention and call nothing.
//!
//! They take and return integers and addresses alone. A floating-point number goes by its bits: on
//! targets without vector registers (`x86_64-unknown-none`, `x86_64-unknown-uefi`) compilers pass
//! `f32` and `f64` in general registers, elsewhere in xmm0.

pub mod alias;
pub mod bandwidth;
pub mod burst;
pub mod chains;
pub mod chase;
pub mod code;
pub mod codealign;
pub mod fields;
pub mod fill;
pub mod flush;
pub mod forward;
pub mod increment;
pub mod jump;
pub mod lanes;
pub mod load;
pub mod lock;
pub mod matmul;
pub mod orders;
pub mod pair;
pub mod pending;
pub mod pick;
pub mod prefetch;
pub mod register;
pub mod rewrite;
pub mod roundtrip;
pub mod shuffle;
pub mod speculate;
pub mod store;
pub mod straddle;
pub mod take;
pub mod tensor;
pub mod tile;
pub mod translate;
pub mod walk;
