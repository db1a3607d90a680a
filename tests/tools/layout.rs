//! `linefill layout` on binaries that compilers make here and now: what it prints of types of C,
//! C++ and Rust, and where it finds their debug information.
#![cfg(feature = "lab")]

automod::dir!("tests/tools/layout");
