//! Golden files of the library: machine code, cases and traces as of the last `BLESS`. `program/golden` has
//! those of the program, `verdicts/golden.rs` those of the verdicts.
#![cfg(feature = "lab")]

automod::dir!("tests/library/golden");
