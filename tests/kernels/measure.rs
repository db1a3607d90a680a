//! The measuring protocol, on kernels whose cost is planted. Times are asserted on medians and
//! with room to spare; everything else is exact.

automod::dir!("tests/kernels/measure");
