//! Kernels as compiled loops over the intrinsics of `core::arch`, with the same arguments, accesses and
//! results as the assembled kernels. Similar kernels share a file.
//!
//! Each kernel is a separate function, never inlined, so that its loop is the same for every caller. In
//! an optimised build, an iteration makes the accesses that its documentation lists and touches no other
//! memory; `tests/library/codegen/forms.rs` checks this at several optimisation levels. Vectors need a
//! target with SSE2; the other kernels also exist on soft-float targets.

#[cfg(target_feature = "sse2")]
pub mod fill;
pub mod flush;
#[cfg(target_feature = "sse2")]
pub mod load;
pub mod store;
pub mod walk;

/// Ends an iteration: keeps the compiler from unrolling the loop and from merging an iteration with
/// the next. Costs no instruction; no memory access moves across it.
#[inline(always)]
fn one_at_a_time() {
    core::hint::black_box(());
}
