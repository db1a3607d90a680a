//! The program's behaviour: each test runs it in a separate folder.
#![cfg(feature = "lab")]

#[path = "../common/mod.rs"]
mod common;

automod::dir!("tests/program");
