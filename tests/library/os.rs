//! The library's calls of Linux, and how it reads recorded machines.
#![cfg(feature = "std")]

automod::dir!("tests/library/os");
