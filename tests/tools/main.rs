//! Tests that need a tool other than cargo and the C compiler: an emulator, a target, another compiler, or
//! tools for debug information. Without the tool, the list at the end names the test as not run; if `CI` is
//! set, the test fails.

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/tools");
