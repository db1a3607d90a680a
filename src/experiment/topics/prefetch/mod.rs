//! Prefetches by the hardware and by instructions.

pub mod hwprefetch;
pub mod loop_arrays;
pub mod swprefetch;

families![hwprefetch, swprefetch, late_prefetch in swprefetch::LATE, loop_arrays,];
