//! The measuring protocol, on kernels whose cost the test sets. Assertions on times use medians with a
//! margin; everything else is exact.

automod::dir!("tests/kernels/measure");
