//! The heap of this program: counts allocated bytes, and overwrites freed blocks.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// Bytes that are allocated now, and their maximum.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static HEAP: Counting = Counting;

/// The value of a freed byte.
const FREED: u8 = 0xDE;

// SAFETY: all calls go to the system's allocator. A block is overwritten before it is freed, when no
// reference to it exists any more.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller guarantees a valid layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller frees a block of this layout that nothing uses any more.
        unsafe {
            block.write_bytes(FREED, layout.size());
            System.dealloc(block, layout);
        }
    }
}

/// Bytes that are allocated now, by all threads.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// The maximum since the call of [`most_from_now`].
#[cfg(feature = "lab")]
pub fn most() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// Restarts [`most`]; returns the bytes that are allocated now.
#[cfg(feature = "lab")]
pub fn most_from_now() -> usize {
    let live = live();
    MOST.store(live, Ordering::Relaxed);
    live
}
