//! The heap, as this program sees it: counts what is taken, and overwrites what is freed.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// Bytes that are taken and not given back, and the most of them.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static HEAP: Counting = Counting;

/// What a freed byte holds.
const FREED: u8 = 0xDE;

// SAFETY: does what the system's does. A block is overwritten before it is given back, when nobody
// may use it any more.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller vouches for the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller gives back a block of this layout, which is nobody's any more.
        unsafe {
            block.write_bytes(FREED, layout.size());
            System.dealloc(block, layout);
        }
    }
}

/// Bytes that are taken and not given back, by all threads.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// The most that were taken at a time since [`most_from_now`] was called.
#[cfg(feature = "lab")]
pub fn most() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// Begins [`most`] anew; returns what is taken.
#[cfg(feature = "lab")]
pub fn most_from_now() -> usize {
    let live = live();
    MOST.store(live, Ordering::Relaxed);
    live
}
