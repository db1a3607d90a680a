//! The memory that the patterns are laid out in.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the arena: whole 2 MiB pages, more than the caches of most CPUs.
const BYTES: usize = 32 << 20;

#[repr(C, align(0x20_0000))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: `take` hands the bytes out once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The arena; `None` from the second call on.
pub fn take() -> Option<&'static mut [u8]> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return None;
    }
    // SAFETY: the first caller alone comes here, so the reference is the only one.
    Some(unsafe { &mut *ARENA.0.get() })
}
