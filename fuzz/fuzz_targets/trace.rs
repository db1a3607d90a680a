//! Traces of both forms, through caches of every kind.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/heap/mutation/drivers.rs"]
mod drivers;

fuzz_target!(|data: &[u8]| {
    let _ = drivers::trace(data);
});
