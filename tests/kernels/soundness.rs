//! No safe call accesses memory outside its region, for any arguments.
#![cfg(feature = "std")]

automod::dir!("tests/kernels/soundness");
// A fuzz target shares this module by its path.
mod constructors;
