//! What the library does, but for its kernels (`tests/kernels`) and for what looks at the heap
//! (`tests/heap`).

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/library");
