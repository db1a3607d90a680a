//! What takes a tool beside cargo and the C compiler: an emulator, a target, another compiler, readers
//! and writers of debug information. Without it the test is listed at the end as not run, and fails
//! where the environment says `CI`.

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/tools");
