//! Prefetches by the hardware and by instructions.

mod hwprefetch;
pub mod loop_arrays;
mod swprefetch;

families![hwprefetch, swprefetch, late_prefetch in swprefetch::LATE, loop_arrays,];
