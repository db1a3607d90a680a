//! ELF files and their debug information, as `layout` reads them.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/heap/mutation/drivers.rs"]
mod drivers;

/// `layout` maps files, so the input has to be a file: in memory if possible.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("linefill-fuzz-{}", std::process::id()))
});

fuzz_target!(|data: &[u8]| {
    let _ = drivers::debug_information(data, &FILE);
});
