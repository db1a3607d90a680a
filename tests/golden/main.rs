//! Golden files: machine code, cases, traces, reports and JSON as they were when they were blessed.
//!
//! They show that a change of the code's structure changes nothing else. After a change that is
//! meant to change them, write them anew and review their diff:
//!
//! ```text
//! BLESS=1 cargo test --all-features --test golden --test verdicts
//! ```
//!
//! `tests/verdicts/golden.rs` does the same for the verdicts on planted data.
#![cfg(feature = "lab")]

mod cases;
#[path = "../cli_common/mod.rs"]
mod cli_common;
mod code;
mod file;
mod json;
#[allow(dead_code)]
#[path = "../verdicts/machines.rs"]
mod machines;
mod reports;
