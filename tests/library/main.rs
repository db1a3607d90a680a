//! Tests of the library, except its kernels (`tests/kernels`) and the heap (`tests/heap`).

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/library");
