//! What the program does: each test starts it, in a folder of its own.
#![cfg(feature = "lab")]

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/program");
