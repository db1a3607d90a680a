//! Kernels, what they run on, and the simulator. A binary of its own because `.ci/run` builds these
//! tests with optimisation too, and `.ci/nightly` with AddressSanitizer: the rest of the library's
//! tests would take minutes more to build, and nothing in them depends on it.

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/kernels");
