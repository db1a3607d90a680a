//! The heap, as this program sees it: counts what is taken, and overwrites what is freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

struct Counting;

/// Bytes that are taken and not given back.
static LIVE: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static HEAP: Counting = Counting;

/// What a freed byte holds.
const FREED: u8 = 0xDE;

// SAFETY: does what the system's does. A block is overwritten before it is given back, when nobody
// may use it any more.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller vouches for the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller gives back a block of this layout, which is nobody's any more.
        unsafe {
            block.write_bytes(FREED, layout.size());
            System.dealloc(block, layout);
        }
    }
}

/// Bytes that are taken and not given back, by all threads.
pub fn live() -> isize {
    LIVE.load(Ordering::Relaxed)
}
