//! Records, and how `report`, `compare` and `machine --record` read them.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/heap/mutation/drivers.rs"]
mod drivers;

fuzz_target!(|data: &[u8]| {
    let pages = data.len().is_multiple_of(64);
    let _ = drivers::record(data, pages);
});
