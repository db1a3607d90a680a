//! The memory for the patterns.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the arena: whole 2 MiB pages, more than the caches of most CPUs.
const BYTES: usize = 32 << 20;

#[repr(C, align(0x20_0000))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: `take` returns the bytes only once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns the arena, or `None` from the second call on.
pub fn take() -> Option<&'static mut [u8]> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return None;
    }
    // SAFETY: only the first call gets here, so this is the only reference.
    Some(unsafe { &mut *ARENA.0.get() })
}
