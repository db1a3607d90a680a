//! Tests of the heap. A separate binary, because a program has only one allocator, and this one counts
//! allocated bytes and overwrites freed blocks.
#![cfg(feature = "std")]

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/heap");
