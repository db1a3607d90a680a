//! Software events, which the kernel counts nearly everywhere.
#![cfg(feature = "std")]

use std::hint::black_box;

use super::untested;
use linefill::os::perf::probe_software;
use linefill::os::{Memory, Pages};

/// Pages that [`touch`] writes for the first time.
pub const FRESH: usize = 64;

/// Writes to pages that are not mapped yet. Returns their bytes.
pub fn touch() -> usize {
    let mut memory = Memory::new(FRESH * 4096, Pages::Base).unwrap();
    memory.give_back().unwrap();
    for page in memory.region().bytes_mut().chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(memory.region().len())
}

/// Whether software events cannot be counted here. Then there is nothing to test.
#[track_caller]
pub fn refused() -> bool {
    match probe_software() {
        Ok(()) => false,
        Err(refusal) => {
            untested::machine(&refusal.to_string());
            true
        }
    }
}
