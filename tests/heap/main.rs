//! What looks at the heap. A binary of its own because a program has one allocator, and this one
//! counts what is taken and overwrites what is freed.
#![cfg(feature = "std")]

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/heap");
