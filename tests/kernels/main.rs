//! Kernels, the parts they use, and the simulator. A separate binary, because `.ci/run` also builds these
//! tests with optimisation, and `.ci/nightly` with AddressSanitizer. The library's other tests do not depend
//! on either, and would add minutes to these builds.

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/kernels");
