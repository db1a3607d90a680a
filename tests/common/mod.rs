//! Code that several test binaries share. Each binary uses only a part of it.
#![allow(dead_code)]

automod::dir!(pub "tests/common");
