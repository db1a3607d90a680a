//! `linefill layout` on binaries that the installed compilers make: its output for types of C, C++ and Rust,
//! and the places where it finds debug information.
#![cfg(feature = "lab")]

automod::dir!("tests/tools/layout");
