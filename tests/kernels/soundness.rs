//! No safe call reads or writes memory outside its region, whatever its arguments.
#![cfg(feature = "std")]

automod::dir!("tests/kernels/soundness");
// Shared with a fuzz target, which has its folder by a path.
mod constructors;
