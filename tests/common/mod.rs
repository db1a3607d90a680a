//! What several test binaries share. Each uses a part of it.
#![allow(dead_code)]

automod::dir!(pub "tests/common");
