//! The simulator against numbers from elsewhere.
#![cfg(feature = "alloc")]

automod::dir!("tests/kernels/sim");
