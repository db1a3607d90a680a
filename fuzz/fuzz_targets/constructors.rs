//! Every public constructor of a pattern or a kernel. What it builds runs between guard pages.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use linefill::os::Memory;

#[path = "../../tests/kernels/soundness/constructors/mod.rs"]
mod constructors;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::new(constructors::memory());
}

fuzz_target!(|data: &[u8]| {
    MEMORY.with_borrow_mut(|memory| {
        constructors::drive(data, memory, &mut |_| {});
    });
});
