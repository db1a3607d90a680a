//! Parsers for command lines: caches, sizes, gates, lines of a trace.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/heap/mutation/drivers.rs"]
mod drivers;

fuzz_target!(|data: &[u8]| {
    let _ = drivers::configuration(data);
});
