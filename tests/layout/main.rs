//! `linefill layout` on binaries that compilers make here and now: what it prints of types of C,
//! C++ and Rust, and where it finds their debug information.
#![cfg(feature = "lab")]

mod built;
mod c;
#[path = "../cli_common/mod.rs"]
mod cli_common;
mod cpp;
#[path = "../common/elf.rs"]
mod elf;
mod errors;
mod field;
mod hostile;
mod json;
mod pahole;
mod rust;
mod separate;
mod split;
