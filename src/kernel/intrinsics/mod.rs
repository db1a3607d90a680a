//! Kernels as compiled loops over the intrinsics of `core::arch`, beside those of
//! the assembled kernels: the same arguments, accesses and results, alike ones in one file.
//!
//! Each is a function of its own, never inlined, so that its loop is the same wherever it is called
//! from. Optimised, an iteration makes the accesses that its document says and touches no other
//! memory, which `tests/library/codegen/forms.rs` checks at several levels of optimisation. Vectors need a
//! target with SSE2; the other kernels exist on soft-float targets, too.

#[cfg(target_feature = "sse2")]
pub mod fill;
pub mod flush;
#[cfg(target_feature = "sse2")]
pub mod load;
pub mod store;
pub mod walk;

/// Ends an iteration: keeps the compiler from unrolling the loop, and from merging an iteration with
/// the next. Costs no instruction, but no access to memory moves across it.
#[inline(always)]
fn one_at_a_time() {
    core::hint::black_box(());
}
