//! Plain twins: safe Rust that does what each kernel does, with no thought of speed. They are
//! the oracle against which the kernels are checked.

pub mod alias;
pub mod bandwidth;
pub mod blocked;
pub mod burst;
pub mod chase;
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
pub mod nearest;
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
pub mod translate;
pub mod walk;
