//! Prefetches by the hardware and by instructions.

pub mod ahead;
pub mod helper_thread;
pub mod hwprefetch;
pub mod late_prefetch;
pub mod loop_arrays;
pub mod swprefetch;

families![hwprefetch, swprefetch, late_prefetch, loop_arrays,];
